import { expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FREE_PORTS, temporaryDirectory } from './run-fanfare.ts';

const LAUNCHER = join(import.meta.dir, '../../bin/fanfare');

/** The environment of a server that was started with the launcher, read after its first output. */
async function environmentOf(given: Readonly<Record<string, string>>): Promise<readonly string[]> {
  using directory = temporaryDirectory();
  const child = Bun.spawn(['sh', LAUNCHER, 'serve'], {
    cwd: directory.path,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...FREE_PORTS, ...given },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  try {
    await child.stdout.getReader().read();
    return readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
  } finally {
    child.kill();
    await child.exited;
  }
}

it('starts a server that returns free memory after 2 s, prepares none, and may send 1,024 requests at a time', async () => {
  expect(await environmentOf({})).toEqual(
    expect.arrayContaining([
      'MIMALLOC_PURGE_DELAY=2000',
      'MIMALLOC_PURGE_HOLES_MIN_INTERVAL=2000',
      'BUN_JSC_useWarmUpMarkedBlocks=0',
      'BUN_CONFIG_MAX_HTTP_REQUESTS=1024',
    ]),
  );
});

it('keeps environment variables that the operator has set', async () => {
  const given = {
    MIMALLOC_PURGE_DELAY: '100',
    MIMALLOC_PURGE_HOLES_MIN_INTERVAL: '0',
    BUN_JSC_useWarmUpMarkedBlocks: '1',
    BUN_CONFIG_MAX_HTTP_REQUESTS: '300',
  };
  expect(await environmentOf(given)).toEqual(
    expect.arrayContaining(Object.entries(given).map((pair) => pair.join('='))),
  );
});
