import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..');
const PAGE = join(ROOT, 'docs/use/tested-with.md');

/** Around what is printed here; the rest of the page is written by hand. */
const BEGIN = '<!-- printed from test/sdks by npm run docs -->\n';
const END = '<!-- end -->\n';

/** The last run of `npm run test:sdks` in one language. */
export interface SdkResults {
  /** Where its program is, and `results.json` with the rest of this. */
  readonly folder: string;
  readonly date: string;
  /** With its version. */
  readonly language: string;
  readonly libraries: readonly SdkResult[];
}

interface SdkResult {
  readonly name: string;
  readonly version: string;
  /** The names of the checks that held. */
  readonly held: readonly string[];
  readonly failed: readonly string[];
}

/** Prints the page of what was tested: as it is, with the results of `npm run test:sdks` in their place. */
export function printTestedWith(): string {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (after === undefined) throw new Error('docs/use/tested-with.md has no place for the results');
  return `${before}${BEGIN}${printSdkResults(readSdkResults())}${END}${after}`;
}

/** The results of the last run in each language, in the order of the alphabet. */
export function readSdkResults(): readonly SdkResults[] {
  const files = [...new Glob('test/sdks/*/results.json').scanSync(ROOT)].sort();
  return files.map((file) => ({
    folder: join(ROOT, dirname(file)),
    ...JSON.parse(readFileSync(join(ROOT, file), 'utf8')),
  }));
}

/** The results as a table. Versions of a library with the same checks share a row. */
export function printSdkResults(results: readonly SdkResults[]): string {
  const rows = results.flatMap(({ date, language, libraries }) => {
    const alike = Map.groupBy(libraries, ({ name, held, failed }) =>
      JSON.stringify([name, held, failed]),
    );
    return [...alike.values()].map((versions) => printRow(versions, { date, language }));
  });
  return `| language | library | checks that held | what is checked | last run |
|---|---|---|---|---|
${rows.map((row) => `${row}\n`).join('')}`;
}

function printRow(
  versions: readonly SdkResult[],
  { date, language }: Pick<SdkResults, 'date' | 'language'>,
): string {
  const [{ name, held, failed } = { name: '', held: [], failed: [] }] = versions;
  const outcome = `${held.length} of ${held.length + failed.length}`;
  const of = versions.length > 1 ? `${outcome} each` : outcome;
  const checks = [...held, ...failed.map((check) => `**failed: ${check}**`)].join('; ');
  const library = `\`${name}\` ${versions.map(({ version }) => version).join(', ')}`;
  return `| ${language} | ${library} | ${of} | ${checks} | ${date} |`;
}
