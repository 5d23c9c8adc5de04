/** `npm run bench:planning`: how long it takes to read whom a publish is for. `--help` says how. */
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openDatabase } from '../../src/stores/database/database.ts';
import type { Dialect } from '../../src/stores/database/dialect.ts';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { describeConditions } from '../conditions.ts';
import { findPinning } from '../cores.ts';
import { median, printConditions } from '../report.ts';
import { type AudienceQuestion, questionsOf } from './audience-questions.ts';
import type { ReaderTask, Reading } from './audience-reader.ts';
import { openForSeeding, type Seeded, seed } from './audience-seed.ts';
import { crowdsOf } from './crowds.ts';
import { runTask } from './one-task.ts';
import { type Answered, printPlanning, printSeeded } from './planning-report.ts';

const help = `Measures how fast the audience of a publish is read, tokens included, and sends nothing. Beside each figure
stands the same number of rows read from one table by a bare Bun.SQL statement for each page.

npm run bench:planning -- [options]

  --devices N      in the first instance, with ten interests each (1000000)
  --database NAME  sqlite or postgres (sqlite)
  --runs N         how often each audience is read (3)
  --json FILE      write the results there as well
  --help           print this
`;

interface Options {
  readonly devices: number;
  readonly database: Dialect;
  readonly runs: number;
  readonly json: string | undefined;
}

function readOptions(args: string[]): Options | 'help' | { readonly why: string } {
  try {
    const { values } = parseArgs({
      args,
      options: {
        devices: { type: 'string', default: '1000000' },
        database: { type: 'string', default: 'sqlite' },
        runs: { type: 'string', default: '3' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return 'help';
    const [devices, runs] = [Number(values.devices), Number(values.runs)];
    if (!Number.isInteger(devices) || devices < 1000) {
      return { why: '--devices takes a number from 1000' };
    }
    if (!Number.isInteger(runs) || runs < 1) return { why: '--runs takes a number from 1' };
    const { database, json } = values;
    if (database !== 'sqlite' && database !== 'postgres') {
      return { why: '--database takes sqlite or postgres' };
    }
    return { devices, database, runs, json };
  } catch (error) {
    // What a person typed; the message is written for that person.
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** Makes a database for one trial, and takes it away afterwards. */
async function emptyDatabase(dialect: Dialect): Promise<{ url: string } & AsyncDisposable> {
  if (dialect === 'postgres') return await throwAwayPostgres();
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-planning-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // For an end that unwinds nothing, such as Ctrl-C.
  process.once('exit', remove);
  return {
    url: `sqlite:${join(folder, 'fanfare.db')}`,
    async [Symbol.asyncDispose]() {
      process.off('exit', remove);
      remove();
    },
  };
}

/** Fills the database; settles when nobody uses it any more. */
async function fill(url: string, devices: number): Promise<Seeded> {
  // It makes the tables.
  await (await openDatabase(url))[Symbol.asyncDispose]();
  await using database = await openForSeeding(url);
  return await seed(database, crowdsOf(devices));
}

/** Reads one audience in a fresh process, so that its memory is its own. */
function readIn(pin: readonly string[], task: ReaderTask): Promise<Reading> {
  return runTask<Reading>(pin, 'audience-reader.ts', task);
}

/** Reads each audience both ways in turn, so that what changes on this machine meanwhile meets both. */
async function answer(
  pin: readonly string[],
  url: string,
  question: AudienceQuestion,
  runs: number,
): Promise<Answered> {
  const readings: Answered['readings'][number][] = [];
  for (let run = 1; run <= runs; run += 1) {
    const fanfare = await readIn(pin, { url, how: 'fanfare', question });
    const bare = await readIn(pin, { url, how: 'bare', question });
    readings.push({ fanfare, bare });
    const [took, beside] = [fanfare.seconds.toFixed(3), bare.seconds.toFixed(3)];
    console.error(`${question.name}, run ${run}: ${took} s, bare ${beside} s`);
  }
  return { question, readings };
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(help);
    return 0;
  }
  if ('why' in options) {
    console.error(`bench:planning: ${options.why}\nTry --help.`);
    return 2;
  }
  const { devices, database: dialect, runs } = options;
  const pinning = findPinning();
  const conditions = describeConditions(pinning.description);
  console.log(printConditions(conditions));

  await using database = await emptyDatabase(dialect);
  const seeded = await fill(database.url, devices);
  console.log(printSeeded(dialect, crowdsOf(devices), seeded));

  const answers: Answered[] = [];
  for (const question of questionsOf(devices)) {
    answers.push(await answer(pinning.server, database.url, question, runs));
  }
  console.log(`\n${printPlanning(dialect, devices, answers)}`);
  if (options.json !== undefined) {
    const seconds = answers.map(({ question, readings }) => ({
      audience: question.name,
      devices: question.devices,
      seconds: median(readings.map(({ fanfare }) => fanfare.seconds)),
      bareSeconds: median(readings.map(({ bare }) => bare.seconds)),
      readings,
    }));
    const results = { conditions, dialect, devices, seeded, audiences: seconds };
    await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
  }
  return 0;
}

// So that what was started is stopped, and what was made is removed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}
process.exitCode = await main();
