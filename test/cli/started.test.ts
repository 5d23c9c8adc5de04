import { dlopen } from 'bun:ffi';
import { describe, expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceManager } from '../../src/cli/serving/service-manager.ts';
import { eventually } from '../../testing/eventually.ts';
import { commandOf } from '../../testing/servers/fanfare.ts';
import { serveOnTerminal } from '../../testing/servers/on-terminal.ts';
import { FREE_PORTS, fanfare, temporaryDirectory } from './run-fanfare.ts';

/** Starts `serve`, and returns what it prints up to the first text that matches. */
async function serve(
  directory: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) {
  const child = Bun.spawn([...commandOf(), 'serve', ...args], {
    cwd: directory,
    env: { ...process.env, ...FREE_PORTS, ...environment },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const stop = async () => {
    child.kill();
    return await child.exited;
  };
  const { value } = await child.stdout.getReader().read();
  const printed = new TextDecoder().decode(value);
  return {
    printed,
    child,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

describe('serve --json', () => {
  it('prints one line with addresses, the first app and the first instance, and secrets only if asked to', async () => {
    using directory = temporaryDirectory();
    const printed: string[] = [];
    for (const args of [['--json', '--secret'], ['--json']]) {
      await using server = await serve(directory.path, args);
      printed.push(server.printed);
    }
    const [all, without] = printed.map((line) => JSON.parse(line));
    expect(printed[0]).toMatch(/^.*\n$/);
    expect(all).toEqual({
      channels: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      push: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      admin: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      app: {
        id: expect.stringMatching(/^\d+$/),
        key: expect.stringMatching(/^[0-9a-f]{20}$/),
        secret: expect.stringMatching(/^[0-9a-f]{40}$/),
      },
      instance: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        secretKey: expect.stringMatching(/^[0-9A-F]{64}$/),
      },
    });
    const { secret: _, ...app } = all.app;
    expect(without).toMatchObject({ app, instance: { id: all.instance.id } });
    expect(printed[1]).not.toContain(all.app.secret);
    expect(printed[1]).not.toContain(all.instance.secretKey);
  });

  it('prints null without an app, and refuses --secret alone', async () => {
    using directory = temporaryDirectory({
      'fanfare.json': JSON.stringify({ channels: { apps: [] }, push: { instances: [] } }),
    });
    await using server = await serve(directory.path, ['--json']);
    expect(JSON.parse(server.printed)).toMatchObject({ app: null, instance: null });
    expect(await fanfare(directory.path, ['serve', '--secret'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--secret needs --json'),
    });
  });
});

it('prints secrets and a link that logs in where a person reads them', async () => {
  using directory = temporaryDirectory();
  await using server = await serveOnTerminal(directory.path, FREE_PORTS);
  expect(server.printed).toMatch(/^ {2}secret {2}[0-9a-f]{40}$/m);
  expect(server.printed).toMatch(/^ {2}secret key {8}[0-9A-F]{64}$/m);
});

/** A socket of datagrams, as systemd has one. */
function notifySocket(name: string) {
  const { symbols } = dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    bind: { args: ['i32', 'buffer', 'u32'], returns: 'i32' },
    recv: { args: ['i32', 'buffer', 'u64', 'i32'], returns: 'i64' },
    close: { args: ['i32'], returns: 'i32' },
  });
  const path = Buffer.from(name.replace(/^@/, '\0'));
  const address = new Uint8Array([1, 0, ...path]);
  const descriptor = symbols.socket(1, 2, 0);
  expect(symbols.bind(descriptor, address, address.length)).toBe(0);
  const messages: string[] = [];
  const dontWait = 0x40;
  return {
    /** Everything that was received so far. */
    messages(): readonly string[] {
      const bytes = Buffer.alloc(1000);
      for (;;) {
        const length = Number(symbols.recv(descriptor, bytes, bytes.length, dontWait));
        if (length < 0) return messages;
        messages.push(bytes.toString('utf8', 0, length));
      }
    },
    [Symbol.dispose]: () => void symbols.close(descriptor),
  };
}

describe.if(process.platform === 'linux')('a server that systemd starts', () => {
  it('notifies systemd when it is ready, reloads and stops', async () => {
    using directory = temporaryDirectory();
    const name = `@fanfare-test-${process.pid}`;
    using manager = notifySocket(name);
    const received = (count: number) =>
      eventually(
        async () => manager.messages(),
        ({ length }) => length >= count,
      );
    await using server = await serve(directory.path, ['--json'], { NOTIFY_SOCKET: name });
    expect(await received(1)).toEqual(['READY=1']);

    const uptimeUs = 1e6 * Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
    server.child.kill('SIGHUP');
    const [, reloading = '', ready] = await received(3);
    expect(ready).toBe('READY=1');
    const atUs = Number(/^RELOADING=1\nMONOTONIC_USEC=(\d+)$/.exec(reloading)?.[1]);
    // The clock of systemd stands still while the machine sleeps, and that of the uptime does not.
    expect(atUs).toBeGreaterThan(0);
    expect(atUs).toBeLessThan(uptimeUs + 60_000_000);

    expect(await server.stop()).toBe(0);
    expect(await received(4)).toEqual(['READY=1', reloading, 'READY=1', 'STOPPING=1']);
  });

  it('may be given a socket with a path', async () => {
    using directory = temporaryDirectory();
    const name = join(directory.path, 'notify');
    using manager = notifySocket(name);
    const warned: string[] = [];
    (await serviceManager(name, (why) => warned.push(why))).notify('ready');
    expect(manager.messages()).toEqual(['READY=1']);
    expect(warned).toEqual([]);
  });

  it('continues if it cannot notify systemd, and warns', async () => {
    for (const name of ['/nothing/there', 'relative', `/${'x'.repeat(200)}`]) {
      const warned: string[] = [];
      (await serviceManager(name, (why) => warned.push(why))).notify('ready');
      expect(warned).toHaveLength(1);
    }
  });
});
