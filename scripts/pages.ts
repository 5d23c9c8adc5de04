import { openApi } from '../src/admin/openapi.ts';
import { operations } from '../src/admin/operations.ts';
import { printSettings } from '../src/config/settings-table.ts';
import { printMetricsPage } from '../src/observability/meter.ts';
import { printChartPage } from './chart-page.ts';
import { printCommands } from './cli-page.ts';
import { printDashboardTypes } from './dashboard-types.ts';
import { printErrors } from './errors-page.ts';
import { printTestedWith } from './tested-with-page.ts';

/** The pages that are printed from code, by file name under `docs/`. */
export const pages: Readonly<Record<string, () => string>> = {
  'cli.md': printCommands,
  'settings.md': printSettings,
  'errors.md': printErrors,
  'metrics.md': printMetricsPage,
  'tested-with.md': printTestedWith,
  '../src/dashboard/api/answers.ts': () => printDashboardTypes(openApi(operations)),
  '../packaging/helm/fanfare/README.md': printChartPage,
  'openapi.json': () => `${JSON.stringify(openApi(operations), undefined, 2)}\n`,
};
