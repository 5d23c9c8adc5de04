import { describe, expect, it } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RuleName, ruleNames } from '../../src/verify/check/verdict.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, commandOf } from '../../testing/servers/fanfare.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { type Installation, KEPT, oneServer, twoServers } from '../faults/installation.ts';
import { temporaryDirectory } from './run-fanfare.ts';

/** `fanfare verify` as a program, against servers on which nothing breaks, and while one of them is killed and started. */

const UNTRIED: readonly RuleName[] = ['webhooks', 'pushes', 'live'];
const TRIED = ruleNames.filter((name) => !UNTRIED.includes(name));

/** The shortest run. */
const STEADY_SECONDS = 10;

/** What is right 15 s after a server was killed is compared at the end of this. */
const KILLED_SECONDS = 24;

const installations: readonly (readonly [
  of: string,
  start: (webhooksPort: number) => Promise<Installation>,
])[] = [
  ['one server', (port) => oneServer(port, 1)],
  ['a server with two threads', (port) => oneServer(port, 2)],
  ['two servers over Redis', twoServers],
];

interface Verified {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program. `meanwhile` is called once clients receive events. */
async function verify(
  { clientsTo }: Installation,
  seconds: number,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<Verified> {
  using files = temporaryDirectory();
  const history = join(files.path, 'run.jsonl');
  const options = {
    ...{ key: APP.key, secret: APP.secret, 'app-id': APP.id, kept: KEPT, history },
    ...{ seconds, clients: 9, rate: 10, cuts: 60 },
  };
  const words = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const urls = clientsTo.map((url) => `--url=${url}`);
  const child = Bun.spawn([...commandOf(), 'verify', ...urls, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = Promise.all([child.stdout.text(), child.stderr.text()]);
  await eventually(
    () => child.exitCode !== null || (existsSync(history) && readFileSync(history, 'utf8')),
    (text) => text === true || String(text).includes('"op":"event"'),
  );
  await meanwhile();
  const [stdout, stderr] = await printed;
  return { code: await child.exited, stdout, stderr };
}

function expectHeld({ code, stdout, stderr }: Verified): void {
  for (const rule of TRIED) expect(stdout).toMatch(new RegExp(`^held +${rule} `, 'm'));
  for (const rule of UNTRIED) expect(stdout).toMatch(new RegExp(`^not tried +${rule} `, 'm'));
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout, stderr });
}

// All at the same time: a run lasts for many seconds, in which little is to be done.
describe.concurrent('fanfare verify', () => {
  it.each(installations)(
    'tries all but webhooks and push against %s, also while a server is killed and started, and all is held',
    async (_, start) => {
      await using installation = await start(await freePort());
      expectHeld(await verify(installation, STEADY_SECONDS));
      const killed = await verify(installation, KILLED_SECONDS, async () => {
        await installation.kill(0);
        await installation.start(0);
      });
      expectHeld(killed);
      expect(killed.stdout).toMatch(/^recovered \d+\.\d s after \d+\.\d s: all clients were/m);
    },
    180_000,
  );
});
