import { join } from 'node:path';

/** The dashboard's HTML page, which names all other assets. Bundled servers find it under another path. */
export const PAGE_FILE = join(import.meta.dir, '../../../dashboard/index.html');
