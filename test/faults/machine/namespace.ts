import { run } from './run.ts';

/** The programs that a network of a test's own needs. */
export const NETWORK_PROGRAMS = ['unshare', 'ip'] as const;

/** Which packets of an address are lost: those to it as well, or only those that come from it. */
export type Lost = 'all' | 'answers';

const LOCAL_AT = 100;
const FROM_AT = 10;
const TO_AT = 11;

/** Whether this process has a network of its own, by `inOwnNetwork`. */
export const hasOwnNetwork = process.env['FAULTS_NETWORK'] === 'own';

/** Why this machine gives no process a network of its own; `undefined` if it does. */
export function whyNoNetwork(): string | undefined {
  try {
    run('unshare', '--net', 'ip', 'link', 'set', 'lo', 'up');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Runs a program of Bun in a network of its own, which has nothing but loopback addresses. Returns its exit code. */
export async function inOwnNetwork(args: readonly string[], stop: AbortSignal): Promise<number> {
  // Databases that other processes share are out of its reach.
  const { TEST_RUN_FOLDER: _, ...env } = process.env;
  const child = Bun.spawn(['unshare', '--net', process.execPath, ...args], {
    env: { ...env, FAULTS_NETWORK: 'own' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  stop.addEventListener('abort', () => child.kill('SIGINT'), { once: true });
  return await child.exited;
}

/** Starts the network of this process, and lets rules come before the table of local addresses. */
export function openNetwork(): void {
  run('ip', 'link', 'set', 'lo', 'up');
  run('ip', 'rule', 'add', 'pref', String(LOCAL_AT), 'lookup', 'local');
  run('ip', 'rule', 'del', 'pref', '0');
}

/** Swallows packets of an address. No connection ends by that, and no packet is refused. Returns how to let them through again. */
export function swallow(address: string, lost: Lost): () => void {
  const rules: string[][] = [[String(FROM_AT), 'from', address]];
  if (lost === 'all') rules.push([String(TO_AT), 'to', address]);
  for (const rule of rules) run('ip', 'rule', 'add', 'pref', ...rule, 'blackhole');
  return () => {
    for (const [pref = ''] of rules) run('ip', 'rule', 'del', 'pref', pref);
  };
}
