import { rmSync } from 'node:fs';
import { check } from '../../../src/verify/check/check.ts';
import { readHistory } from '../../../src/verify/history/read-history.ts';
import { APP, COMMAND_IN_HINTS, commandOf } from '../../../testing/servers/fanfare.ts';
import { freePort } from '../../../testing/servers/free-port.ts';
import type { Amounts } from '../amounts.ts';
import { KEPT, twoServers } from '../installation.ts';
import type { Outcome, RunOptions, Scene } from '../trial.ts';

/** What `fanfare verify` exits with if nothing was broken. */
const KEPT_CODE = 0;

/** Runs `fanfare verify` as an operator does, against two servers over Redis. Nothing breaks. */
async function steady(seconds: number, { file, stop }: RunOptions): Promise<Outcome> {
  const webhooksPort = await freePort();
  await using installation = await twoServers(webhooksPort);
  const options = {
    key: APP.key,
    secret: APP.secret,
    'app-id': APP.id,
    seconds: String(seconds),
    kept: KEPT,
    webhooks: String(webhooksPort),
    history: file,
  };
  const words = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const urls = installation.ports.map((port) => `--url=http://127.0.0.1:${port}`);
  const child = Bun.spawn([...commandOf(), 'verify', ...urls, ...words], {
    env: { ...process.env, ...COMMAND_IN_HINTS },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end = () => child.kill('SIGINT');
  stop.addEventListener('abort', end, { once: true });
  const [printed, complaints, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  stop.removeEventListener('abort', end);
  // The same verdict as the command has printed.
  const verdict = check(readHistory(file));
  const isHeld = exitCode === KEPT_CODE;
  if (isHeld) rmSync(file);
  return {
    verdict,
    done: new Map([['fanfare verify', 1]]),
    problems: isHeld ? [] : [`exit code ${exitCode}: ${printed}${complaints}`],
  };
}

export function steadyScenes({ seconds }: Amounts): readonly Scene[] {
  return [
    {
      name: 'steady: two servers over Redis, nothing broken',
      section: 'verify',
      inOwnNetwork: false,
      lacks: () =>
        Bun.which('redis-server') === null ? 'this machine has no redis-server' : undefined,
      run: (options) => steady(seconds, options),
    },
  ];
}
