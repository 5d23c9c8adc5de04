import { printSettings } from '../src/config/settings-table.ts';
import { printErrors } from './errors-page.ts';

/** The pages that are printed from code, by file name under `docs/`. */
export const pages: Readonly<Record<string, () => string>> = {
  'settings.md': printSettings,
  'errors.md': printErrors,
};
