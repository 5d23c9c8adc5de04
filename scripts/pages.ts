import { openApi } from '../src/admin/description/openapi.ts';
import { operations } from '../src/admin/operations.ts';
import { printSettings } from '../src/config/settings-table.ts';
import { printMetricsPage } from '../src/observability/meter.ts';
import { printChartPage } from './chart-page.ts';
import { printCommands } from './cli-page.ts';
import { printDashboardTypes } from './dashboard-types.ts';
import { printErrors } from './errors-page.ts';
import { printEvidence } from './evidence-page.ts';
import { printJson } from './print-json.ts';
import { printTestedWith } from './tested-with-page.ts';

/** The pages that are printed from code, by path under `docs/`. */
export const pages: Readonly<Record<string, () => string>> = {
  'reference/cli.md': printCommands,
  'reference/settings.md': printSettings,
  'reference/errors.md': printErrors,
  'reference/metrics.md': printMetricsPage,
  'use/tested-with.md': printTestedWith,
  'use/evidence.md': printEvidence,
  '../src/dashboard/api/answers.ts': () => printDashboardTypes(openApi(operations)),
  '../packaging/helm/fanfare/README.md': printChartPage,
  'reference/openapi.json': () => printJson(openApi(operations)),
};
