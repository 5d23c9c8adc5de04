import { join } from 'node:path';
import { pages } from './pages.ts';

/** `npm run docs`: writes the pages that are printed from code. A test fails when one is out of date. */
for (const [name, print] of Object.entries(pages)) {
  await Bun.write(join(import.meta.dir, '../docs', name), print());
  console.log(`docs/${name}`);
}
