import { Glob } from 'bun';

/** All files with tests of a clone, relative to it, sorted. */
export function testFilesOf(root: string): readonly string[] {
  return [...new Glob('{src,sdk,bench,testing,scripts,test}/**/*.test.{ts,tsx}').scanSync(root)]
    .filter((path) => !path.includes('node_modules/'))
    .sort();
}
