import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/runtime/error-code.ts';
import { type AppAddress, benchApp } from './bench-app.ts';

const usage = `npm run bench -- [SCENARIO ...] [options]     Channels beside bench/floor.ts, the least program that could work
npm run bench -- push [options]               push: how fast publishes reach their devices
npm run bench -- accept [options]             push: publishes and registrations accepted per second
npm run bench -- broadcast [options]          push: memory and time of a publish to ten million devices
npm run bench -- soak [options]               crowds of fanfare verify that come, chat and go for minutes
npm run bench -- million [options]            one server and as many silent subscribers as the machine can hold
npm run bench -- storm [options]              all connections reset at once, and back
npm run bench -- tls [options]                connections with TLS beside connections without
npm run bench -- grants [options]             subscriptions by a grant beside those by a signature
npm run bench -- neighbours [options]         latency of a quiet app beside a busy one
npm run bench -- recovery [options]           seconds from a fault until clients are right again
npm run bench -- check [options]              memory and time that judging a recording takes

Options of scenarios:

  --quick          one short run: an impression, not a figure
  --runs N         starts and measurements of each server (3)
  --json FILE      also write the results to this file
  --verbose        print every step of the search
  --floor-twice    measure the floor against itself: how much a ratio varies on this machine
  --beside COMMIT  compare with the Fanfare of another commit: processor time for each connection, event or request,
                   one realtime thread each, in turns; the floor is not measured
    --threads N    of "cluster": realtime threads of each server (1)
  --model          of cluster: print what fleets cost, computed, and measure nothing
  --url URL        measure a running server (http://127.0.0.1:6001) of any make that speaks the Channels
    --app-id ID      protocol, instead of Fanfare; it is not pinned to a core
    --key KEY
    --secret SECRET
  --help           print this; each of the others above has a --help of its own
`;

/** A scenario in the help. */
interface Choice {
  readonly name: string;
  readonly description: string;
  readonly needs?: string;
}

/** The help. */
export function helpFor(choices: readonly Choice[]): string {
  const width = Math.max(...choices.map(({ name }) => name.length));
  const lines = choices.map(({ name, description, needs }) => {
    const note = needs === undefined ? '' : ` (not with --url: needs ${needs})`;
    return `  ${name.padEnd(width)}  ${description}${note}`;
  });
  return `${usage}\nScenarios:\n\n${lines.join('\n')}\n`;
}

/** The options of the command line. */
export interface Options {
  /** The chosen scenarios; empty: all. */
  readonly names: readonly string[];
  readonly help: boolean;
  readonly quick: boolean;
  readonly runs: number;
  readonly json: string | undefined;
  readonly verbose: boolean;
  readonly floorTwice: boolean;
  /** Whether the model of clusters is printed, in place of all else. */
  readonly model: boolean;
  /** The commit whose processor time is compared, in place of all else. */
  readonly beside: string | undefined;
  /** Realtime threads of each server that is compared over Redis. */
  readonly threads: number;
  /** The server to measure instead of Fanfare. */
  readonly app: AppAddress | undefined;
}

/** Arguments that a command does not accept. The message is for people. */
export class UsageError extends Error {}

/** Parses arguments. Throws `UsageError`. */
export const parseOptions: typeof parseArgs = (config) => {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
};

/** Reads a whole number that is not too small. Throws `UsageError`. */
export function countOf(text: string, { option, min }: { option: string; min: number }): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= min) return count;
  throw new UsageError(`${option} takes a number from ${min}`);
}

/** Reads the command line. Throws `UsageError`. */
export function readOptions(args: string[], choices: readonly Pick<Choice, 'name'>[]): Options {
  const { values, positionals: names } = parseOptions({
    args,
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      runs: { type: 'string' },
      json: { type: 'string' },
      verbose: { type: 'boolean', default: false },
      'floor-twice': { type: 'boolean', default: false },
      model: { type: 'boolean', default: false },
      beside: { type: 'string' },
      threads: { type: 'string' },
      url: { type: 'string' },
      'app-id': { type: 'string', default: benchApp.id },
      key: { type: 'string', default: benchApp.key },
      secret: { type: 'string', default: benchApp.secret },
    },
  });
  const unknown = names.find((name) => !choices.some((choice) => choice.name === name));
  if (unknown !== undefined) throw new UsageError(`there is no scenario "${unknown}"`);

  const { help, quick, json, verbose, 'floor-twice': floorTwice, model, beside, url } = values;
  if (model && names.join() !== 'cluster') throw new UsageError('--model is of cluster alone');
  if (beside !== undefined && (floorTwice || url !== undefined)) {
    throw new UsageError('--beside compares two versions, and neither --floor-twice nor --url');
  }
  const runs = countOf(values.runs ?? (quick ? '1' : '3'), { option: '--runs', min: 1 });
  if (values.threads !== undefined && !(beside !== undefined && names.includes('cluster'))) {
    throw new UsageError('--threads is for "cluster" with --beside');
  }
  const threads = countOf(values.threads ?? '1', { option: '--threads', min: 1 });
  const given = { names, help, quick, runs, json, verbose, floorTwice, model, beside, threads };
  if (url === undefined) return { ...given, app: undefined };
  const { protocol, hostname, port } = URL.parse(url) ?? {};
  if (protocol !== 'http:' || !hostname) throw new UsageError('--url takes http://HOST:PORT');
  const { 'app-id': appId, key, secret } = values;
  return { ...given, app: { host: hostname, port: Number(port || 80), appId, key, secret } };
}

/** Writes the results of a bench, if a file for them was given. */
export async function writeResults(file: string | undefined, results: object): Promise<void> {
  if (file !== undefined) await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
}
