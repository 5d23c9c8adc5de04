import { join } from 'node:path';

/** The page of the dashboard, from which everything else of it is found. Bundles of the server name it by another path. */
export const PAGE_FILE = join(import.meta.dir, '../../../dashboard/index.html');
