import { parseArgs } from 'node:util';
import { type AppAddress, benchApp } from './bench-app.ts';

export const help = `Measures Fanfare beside bench/floor.ts, a bare Bun program that does the least that could work.

npm run bench -- [options]

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

/** What was asked for on the command line. */
export interface Options {
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
): { ok: true; options: Options } | { ok: false; why: string } {
  try {
    const { values } = parseArgs({
      args,
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
    if (!Number.isInteger(runs) || runs < 1)
      return { ok: false, why: '--runs takes a number from 1' };

    const { help, quick, json, verbose, 'floor-twice': floorTwice, url } = values;
    const given = { help, quick, runs, json, verbose, floorTwice };
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
