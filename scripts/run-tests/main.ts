import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readArguments } from './arguments.ts';
import { Children, RunEnded } from './children.ts';
import { help } from './help.ts';
import { type Plan, planOf, type Run } from './plan.ts';
import { Results } from './results.ts';
import { isWritableFolder, makeRunFolder, tidyUp } from './run-folder.ts';
import { testFilesOf } from './test-files.ts';

/** The program of `npm test`, which `scripts/test.sh` starts: runs tests, and exits with 0 if all of them passed. */

const ROOT = resolve(import.meta.dir, '../..');

/** How many processes run test files. Unit tests compute; the others wait for servers most of the time. */
const UNIT_PROCESSES = 2;
const PROCESSES = 5;
const MATRIX_PROCESSES = 4;

/**
 * Test processes and their servers live for seconds, and compiling took an eighth of the CPU time. So a function must
 * run more often before the runtime compiles it.
 */
const COMPILE_LESS = {
  BUN_JSC_thresholdForJITAfterWarmUp: '2000',
  BUN_JSC_thresholdForJITSoon: '2000',
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '10000',
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '10000',
  BUN_JSC_thresholdForOptimizeSoon: '10000',
};

const testFiles = testFilesOf(ROOT);
const request = readArguments(process.argv.slice(2), {
  root: ROOT,
  testFiles,
  exists: (path) => existsSync(join(ROOT, path)),
});

if (request.mode === 'help') {
  console.log(help());
} else if (request.mode === 'wrong') {
  for (const problem of request.problems) console.error(`npm test: ${problem}`);
  console.error('`npm test -- --help` says what can be run.');
  process.exitCode = 2;
} else {
  const plan = planOf(request, testFiles, Boolean(process.env['TEST_SERVERS']));
  const processes = request.mode === 'matrix' ? MATRIX_PROCESSES : PROCESSES;
  process.exitCode = await inRunFolder((folder, children) =>
    runPlan(plan, { folder, children, options: request.options, processes }),
  );
}

/** Does something in a folder of its own, and tidies up whatever happens. Returns the exit code. */
async function inRunFolder(
  work: (folder: string, children: Children) => Promise<number>,
): Promise<number> {
  const folder = makeRunFolder(process.env);
  using children = new Children(ROOT, environment(folder));
  try {
    return await work(folder, children);
  } catch (error) {
    if (error instanceof RunEnded) return error.exitCode;
    throw error;
  } finally {
    await tidyUp(folder);
  }
}

function environment(folder: string): Record<string, string> {
  return {
    TEST_RUN_FOLDER: folder,
    TMPDIR: folder,
    // npm fails without a cache, and keeps it in the home, which may be read-only.
    ...(isWritableFolder(process.env['HOME'] ?? '')
      ? {}
      : { npm_config_cache: join(folder, 'npm-cache') }),
    ...COMPILE_LESS,
  };
}

interface PlanOptions {
  readonly folder: string;
  readonly children: Children;
  /** For `bun test`. */
  readonly options: readonly string[];
  /** For the tests with servers. */
  readonly processes: number;
}

/** Runs the tests of a plan, prints what fails and the sums, and returns the exit code. */
async function runPlan(
  { tools, unit, servers, needNoBuild, faults }: Plan,
  { folder, children, options, processes }: PlanOptions,
): Promise<number> {
  const results = new Results();
  let exitCode = 0;
  const run = async ({ title, env, paths }: Run, how: readonly string[]) => {
    if (title !== undefined) console.log(title);
    // The slowest files start first.
    const words = ['--timeout', '180000', '--only-failures', '--timings=scripts/test-timings.json'];
    const command = [process.execPath, 'test', ...words, ...how, ...options, ...paths];
    exitCode = (await children.show(command, (line) => results.add(line), env)) || exitCode;
  };

  if (tools !== undefined) {
    const code = await children.show(['sh', 'scripts/install-tools.sh', ...tools]);
    if (code !== 0) return code;
  }
  for (const one of unit) await run(one, [`--parallel=${UNIT_PROCESSES}`, '--no-isolate']);
  if (servers.length > 0 && needNoBuild !== true) await build(folder, children);
  for (const one of servers) await run(one, [`--parallel=${processes}`]);
  if (faults !== undefined) {
    console.log('Servers that break while clients use them:');
    const command = [process.execPath, 'test/faults/run.ts', ...faults];
    exitCode = (await children.show(command)) || exitCode;
  }

  process.stdout.write(results.summary());
  return exitCode;
}

/** Builds the server once for all tests: it starts in half the CPU time. */
async function build(folder: string, children: Children): Promise<void> {
  const bundle = join(folder, 'bundle');
  await children.read([process.execPath, 'testing/servers/bundle.ts', bundle]);
  children.env['TEST_PROGRAM'] = join(bundle, 'main.js');
  if (process.platform !== 'linux' || process.arch !== 'x64') return;
  const command = [process.execPath, 'packaging/build.ts', '--out', join(folder, 'binary')];
  children.env['TEST_BINARY'] = await children.read(command);
}
