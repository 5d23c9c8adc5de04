import { parseArgs } from 'node:util';
import { type AppAddress, benchApp } from './bench-app.ts';

const usage = `npm run bench -- [SCENARIO ...] [options]     Channels beside bench/floor.ts, the least program that could work
npm run bench -- push [options]               push: how fast publishes reach their devices
npm run bench -- accept [options]             push: publishes and registrations accepted per second
npm run bench -- soak [options]               clients that come, go and chat for minutes, each delivery checked

Options of scenarios:

  --quick          one short run: an impression, not a figure
  --runs N         starts and measurements of each server (3)
  --json FILE      also write the results to this file
  --verbose        print every step of the search
  --floor-twice    measure the floor against itself: how much a ratio varies on this machine
  --url URL        measure a running server (http://127.0.0.1:6001) of any make that speaks the Channels
    --app-id ID      protocol, instead of Fanfare; it is not pinned to a core
    --key KEY
    --secret SECRET
  --help           print this; push, accept and soak have a --help of their own
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
  /** The server to measure instead of Fanfare. */
  readonly app: AppAddress | undefined;
}

/** Reads the command line, or explains what is wrong with it. */
export function readOptions(
  args: string[],
  choices: readonly Pick<Choice, 'name'>[],
): { ok: true; options: Options } | { ok: false; why: string } {
  try {
    const { values, positionals: names } = parseArgs({
      args,
      allowPositionals: true,
      options: {
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
    if (!isCount(runs, 1)) return { ok: false, why: '--runs takes a number from 1' };

    const unknown = names.find((name) => !choices.some((choice) => choice.name === name));
    if (unknown !== undefined) return { ok: false, why: `there is no scenario "${unknown}"` };

    const { help, quick, json, verbose, 'floor-twice': floorTwice, url } = values;
    const given = { names, help, quick, runs, json, verbose, floorTwice };
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
    // `parseArgs` and `URL` throw for wrong arguments, with messages for people.
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether a number is whole and not too small. */
export function isCount(value: number, min: number): boolean {
  return Number.isInteger(value) && value >= min;
}
