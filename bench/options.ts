import { parseArgs } from 'node:util';
import { type AppAddress, benchApp } from './bench-app.ts';

const usage = `Measures Fanfare beside bench/floor.ts, a bare Bun program that does the least that could work.

npm run bench -- [options]

  --only A,B       measure these scenarios only: see below
  --quick          one short run: an impression, not a figure
  --runs N         how often each server is started and measured (3)
  --json FILE      write the results there as well
  --verbose        print every step of the search
  --floor-twice    measure the floor against itself: what the ratio is worth on this machine
  --url URL        measure a server that is running already (http://127.0.0.1:6001) in place of Fanfare,
    --app-id ID      of any make that speaks the Channels protocol; it is not pinned to a core
    --key KEY
    --secret SECRET
  --help           print this
`;

/** What a person needs to know of a scenario to choose it. */
interface Choice {
  readonly name: string;
  readonly description: string;
  readonly needs?: string;
}

/** Writes what can be asked for. */
export function helpFor(choices: readonly Choice[]): string {
  const width = Math.max(...choices.map(({ name }) => name.length));
  const lines = choices.map(({ name, description, needs }) => {
    const note = needs === undefined ? '' : ` (not with --url: needs ${needs})`;
    return `  ${name.padEnd(width)}  ${description}${note}`;
  });
  return `${usage}\nScenarios:\n\n${lines.join('\n')}\n`;
}

/** What was asked for on the command line. */
export interface Options {
  /** The names of the scenarios that were chosen; nothing for all. */
  readonly only: readonly string[] | undefined;
  readonly help: boolean;
  readonly quick: boolean;
  readonly runs: number;
  readonly json: string | undefined;
  readonly verbose: boolean;
  readonly floorTwice: boolean;
  /** The server to measure in place of Fanfare. */
  readonly app: AppAddress | undefined;
}

/** Reads the command line, or says what is wrong with it. */
export function readOptions(
  args: string[],
  choices: readonly Pick<Choice, 'name'>[],
): { ok: true; options: Options } | { ok: false; why: string } {
  try {
    const { values } = parseArgs({
      args,
      options: {
        only: { type: 'string' },
        help: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        runs: { type: 'string' },
        json: { type: 'string' },
        verbose: { type: 'boolean', default: false },
        'floor-twice': { type: 'boolean', default: false },
        url: { type: 'string' },
        'app-id': { type: 'string', default: benchApp.id },
        key: { type: 'string', default: benchApp.key },
        secret: { type: 'string', default: benchApp.secret },
      },
    });
    const runs = Number(values.runs ?? (values.quick ? 1 : 3));
    if (!Number.isInteger(runs) || runs < 1)
      return { ok: false, why: '--runs takes a number from 1' };

    const only = values.only?.split(',').map((name) => name.trim());
    const unknown = only?.find((name) => !choices.some((choice) => choice.name === name));
    if (unknown !== undefined) return { ok: false, why: `there is no scenario "${unknown}"` };

    const { help, quick, json, verbose, 'floor-twice': floorTwice, url } = values;
    const given = { only, help, quick, runs, json, verbose, floorTwice };
    if (url === undefined) return { ok: true, options: { ...given, app: undefined } };
    const { protocol, hostname, port } = new URL(url);
    if (protocol !== 'http:') return { ok: false, why: '--url takes http://HOST:PORT' };
    const app: AppAddress = {
      host: hostname,
      port: Number(port || 80),
      appId: values['app-id'],
      key: values.key,
      secret: values.secret,
    };
    return { ok: true, options: { ...given, app } };
  } catch (error) {
    // Both readers throw for what a person typed; their messages are written for that person.
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}
