import { expect, it } from 'bun:test';
import { join } from 'node:path';
import { eventually } from '../../testing/eventually.ts';
import { COMMAND_IN_HINTS, commandOf } from '../../testing/servers/fanfare.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { FREE_PORTS, temporaryDirectory } from './run-fanfare.ts';

/** Starts a shell whose `command` writes into a pipe that nobody reads any more. */
function withoutReader(
  directory: string,
  command: string,
  environment: Readonly<Record<string, string>>,
) {
  const script = `mkfifo go; { read _ <go; ${command}; echo $? >code; } | { exec <&-; echo >go; }`;
  return Bun.spawn(['sh', '-c', script], {
    cwd: directory,
    env: { ...process.env, ...COMMAND_IN_HINTS, ...FREE_PORTS, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

const COMMAND = commandOf()
  .map((word) => `'${word}'`)
  .join(' ');

it.each(['apps list', '--help', 'doctor --url http://127.0.0.1:1 --key k'])(
  'a command ends quietly if nobody reads its output: %s',
  async (words) => {
    using directory = temporaryDirectory();
    const shell = withoutReader(directory.path, `${COMMAND} ${words}`, {});
    await shell.exited;
    expect(await new Response(shell.stderr).text()).toBe('');
    expect(await Bun.file(join(directory.path, 'code')).text()).toBe('0\n');
  },
);

it('a server continues if nobody reads its output', async () => {
  using directory = temporaryDirectory();
  const port = await freePort();
  // The log goes into the same pipe.
  const shell = withoutReader(directory.path, `${COMMAND} serve 2>&1 & echo $! >pid; wait $!`, {
    FANFARE_ADMIN_PORT: String(port),
    FANFARE_LOG_LEVEL: 'debug',
  });
  const healthz = async () => {
    try {
      return await (await fetch(`http://127.0.0.1:${port}/readyz`)).text();
    } catch {
      return undefined;
    }
  };
  await eventually(healthz, (text) => text === 'ready\n');
  process.kill(Number(await Bun.file(join(directory.path, 'pid')).text()), 'SIGTERM');
  await shell.exited;
  expect(await Bun.file(join(directory.path, 'code')).text()).toBe('0\n');
});
