import { describe, expect, it } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SdkResults } from '../../scripts/tested-with-page.ts';
import { startScene, type Told } from './scene.ts';

/** The libraries of one language, and the program that checks them. */
export interface Language {
  readonly name: string;
  /** Its folder beside this file. */
  readonly folder: string;
  /** The command that prints the version of the language, of which the first number with dots counts. */
  readonly version: readonly string[];
  /** The file of the folder that pins the libraries. */
  readonly pins: string;
  /** What a library is there, by the name that the program gives it. */
  readonly pinned: (library: string, pins: string) => Pin | undefined;
  /** Installs the libraries into a folder that is removed afterwards, and returns the command of the program. */
  readonly install: (at: Place) => Promise<readonly string[]>;
}

export interface Pin {
  /** In its registry. */
  readonly name: string;
  readonly version: string;
}

export interface Place {
  /** Where the source of the program is. */
  readonly source: string;
  /** A folder that is removed afterwards. */
  readonly folder: string;
  readonly told: Told;
  /** What is removed or stopped afterwards. */
  readonly parts: AsyncDisposableStack;
}

/** What a program prints for each check, as a line of JSON. */
interface Check {
  readonly library: string;
  readonly check: string;
  /** Empty if it holds. */
  readonly error: string;
}

const RUN_MAX_MS = 170_000;

/** Runs the program of a language against real servers, keeps the result, and makes a test of each check. */
export async function checkLibraries(language: Language): Promise<void> {
  const source = join(import.meta.dir, language.folder);
  const { checks, exitCode } = await run(language, source);
  const pins = readFileSync(join(source, language.pins), 'utf8');
  const libraries = Map.groupBy(checks, ({ library }) => library);
  const results: Omit<SdkResults, 'folder'> = {
    date: new Date().toISOString().slice(0, 10),
    language: `${language.name} ${versionOf(language.version)}`,
    libraries: [...libraries].map(([library, own]) => {
      const pin = language.pinned(library, pins);
      if (pin === undefined) throw new Error(`${language.pins} does not pin ${library}`);
      const namesOf = (holds: boolean) =>
        own.filter(({ error }) => (error === '') === holds).map(({ check }) => check);
      return { ...pin, held: namesOf(true), failed: namesOf(false) };
    }),
  };
  // One that has not come to its end says nothing about what it left out.
  if (exitCode === 0) {
    writeFileSync(join(source, 'results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
  }

  it(`the program in ${language.name} has made all of its checks`, () => {
    expect([exitCode, checks.length > 0]).toEqual([0, true]);
  });
  for (const [library, own] of libraries) {
    describe(library, () => {
      for (const { check, error } of own) it(check, () => expect(error).toBe(''));
    });
  }
}

async function run(language: Language, source: string) {
  await using parts = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-sdks-'));
  parts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const { told } = parts.use(await startScene(folder));
  const command = await language.install({ source, folder, told, parts });
  const program = Bun.spawn([...command, JSON.stringify(told)], {
    cwd: source,
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: RUN_MAX_MS,
  });
  const [printed, said] = await Promise.all([program.stdout.text(), program.stderr.text()]);
  const exitCode = await program.exited;
  const lines = printed.split('\n').filter((line) => line !== '');
  const checks: readonly Check[] = lines.map((line) => JSON.parse(line));
  // Libraries also log what checks provoke.
  if (exitCode !== 0 || checks.some(({ error }) => error !== '')) console.error(said);
  return { checks, exitCode };
}

/** Runs a command that must succeed. */
export async function must(command: readonly string[], cwd: string): Promise<void> {
  const child = Bun.spawn([...command], { cwd, stdout: 'pipe', stderr: 'pipe' });
  const [out, err, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${out}${err}`);
}

function versionOf(command: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([...command]);
  return /\d+(?:\.\d+)+/.exec(`${stdout}${stderr}`)?.[0] ?? 'of unknown version';
}
