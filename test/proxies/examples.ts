import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DOCS = join(import.meta.dir, '../../docs');

/** Returns the example of a page that is written in a language and contains a text. There must be one. */
export function example(page: string, language: string, contained: string): string {
  const text = readFileSync(join(DOCS, page), 'utf8');
  const found = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, of, block = '']) => of === language && block.includes(contained))
    .map(([, , block = '']) => block);
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`${page} has ${found.length} examples in ${language} with ${contained}`);
  }
  return only;
}

/** Replaces texts of an example, each of which must be there. */
export function changed(text: string, changes: readonly (readonly [string, string])[]): string {
  let done = text;
  for (const [from, to] of changes) {
    if (!done.includes(from)) throw new Error(`The example does not contain "${from}"`);
    done = done.replaceAll(from, to);
  }
  return done;
}
