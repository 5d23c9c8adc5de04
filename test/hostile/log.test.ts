import { afterEach, describe, expect, it } from 'bun:test';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { api, trigger } from '../../testing/clients/sign.ts';
import { APP, configOf, startFanfare } from '../../testing/servers/fanfare.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';

const PROGRAM = join(import.meta.dir, 'log.fixture.ts');

let stops = new DisposableStack();
afterEach(() => {
  stops.dispose();
  stops = new DisposableStack();
});

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'fanfare-log-'));
  stops.defer(() => rmSync(path, { recursive: true }));
  return path;
}

/** A pipe with a name. */
function fifo(): string {
  const path = join(directory(), 'pipe');
  expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0);
  return path;
}

/** Opens a pipe for both, so that opening it does not wait. */
function openPipe(path: string, flags = 0): number {
  const descriptor = openSync(path, constants.O_RDWR | flags);
  stops.defer(() => closeSync(descriptor));
  return descriptor;
}

/** A full pipe without a reader, on which a write waits. */
function fullPipe(): number {
  const path = fifo();
  const filling = openPipe(path, constants.O_NONBLOCK);
  const bytes = Buffer.alloc(4_096);
  try {
    for (;;) writeSync(filling, bytes);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
  }
  return openPipe(path);
}

interface Result {
  readonly to: string;
  readonly longestMs: number;
  readonly flushMs: number;
  readonly dropped: number;
}

const environment = (lines: number, more: object = {}) => ({
  env: { ...process.env, LINES: String(lines), ...more },
});

/** The numbers of the lines in a log. */
function numbersIn(log: string): number[] {
  return log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).number);
}

const upTo = (count: number) => Array.from({ length: count }, (_, number) => number);

const LINES = 2_000;

describe('the log', () => {
  it('is written to a file', async () => {
    const path = join(directory(), 'log');
    const child = Bun.spawn(
      ['sh', '-c', 'exec "$0" "$1" 2>"$2"', process.execPath, PROGRAM, path],
      {
        ...environment(LINES),
        stdout: 'pipe',
      },
    );
    const result: Result = await child.stdout.json();
    expect(result).toMatchObject({ to: path, dropped: 0 });
    expect(numbersIn(readFileSync(path, 'utf8'))).toEqual(upTo(LINES));
  });

  it('is written to a pipe', async () => {
    const result = join(directory(), 'result');
    const command = '"$0" "$1" 2>&1 >"$2" | cat';
    const child = Bun.spawn(['sh', '-c', command, process.execPath, PROGRAM, result], {
      ...environment(LINES),
      stdout: 'pipe',
    });
    expect(numbersIn(await child.stdout.text())).toEqual(upTo(LINES));
    expect(JSON.parse(readFileSync(result, 'utf8'))).toMatchObject({ to: 'pipe', dropped: 0 });
  });

  it('is written to a Unix socket, as with journald', async () => {
    // The standard streams of Node's children are sockets.
    const script = `
      const child = require('node:child_process').spawn(process.argv[1], [process.argv[2]]);
      child.stdout.on('data', (bytes) => process.stderr.write(bytes));
      child.stderr.on('data', (bytes) => process.stdout.write(bytes));`;
    const child = Bun.spawn(['node', '-e', script, process.execPath, PROGRAM], {
      ...environment(LINES),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [log, result] = await Promise.all([child.stdout.text(), child.stderr.json()]);
    expect(result).toMatchObject({ to: 'socket', dropped: 0 });
    expect(numbersIn(log)).toEqual(upTo(LINES));
  });

  it('is written to a terminal', async () => {
    let shown = '';
    const child = Bun.spawn([process.execPath, PROGRAM], {
      ...environment(LINES),
      terminal: {
        data(_, bytes) {
          shown += Buffer.from(bytes).toString();
        },
      },
    });
    expect(await child.exited).toBe(0);
    while (!shown.includes('dropped')) await Bun.sleep(5);
    const lines = shown.split('\r\n').filter((line) => line.includes('"A line"'));
    expect(numbersIn(lines.join('\n'))).toEqual(upTo(LINES));
    expect(shown).toContain('/dev/pts/');
  });

  it('is written to /dev/null', async () => {
    const child = Bun.spawn([process.execPath, PROGRAM], {
      ...environment(LINES),
      stdout: 'pipe',
      stderr: 'ignore',
    });
    expect(await child.stdout.json()).toMatchObject({ to: '/dev/null', dropped: 0 });
  });

  it('is written while every thread of the runtime is blocked', async () => {
    const child = Bun.spawn([process.execPath, PROGRAM], {
      ...environment(LINES, { FIFO: fifo() }),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [log, result] = await Promise.all([child.stderr.text(), child.stdout.json()]);
    expect(numbersIn(log)).toEqual(upTo(LINES));
    expect(result.dropped).toBe(0);
  });
});

describe('a log without a reader', () => {
  it('does not block: lines beyond its buffer are dropped and counted, and the program can end', async () => {
    const descriptor = fullPipe();
    const child = Bun.spawn([process.execPath, PROGRAM], {
      ...environment(100_000),
      stdout: 'pipe',
      stderr: descriptor,
    });
    const result: Result = await child.stdout.json();
    expect(result.to).toEndWith('/pipe');
    expect(result.dropped).toBeWithin(50_000, 100_000);
    expect(await child.exited).toBe(0);
  });

  it('delays neither clients nor webhooks nor the stop of a server', async () => {
    const descriptor = fullPipe();
    using endpoint = startWebhookEndpoint();
    const folder = directory();
    const file = join(folder, 'config.json');
    const config = configOf(folder, {
      app: { webhooks: [{ url: endpoint.url, events: ['channel_occupied'] }] },
      config: { webhooks: { allowPrivateAddresses: true } },
    });
    writeFileSync(file, JSON.stringify(config));
    const main = join(import.meta.dir, '../../src/main.ts');
    const child = Bun.spawn([process.execPath, main, 'serve', '--config', file], {
      cwd: folder,
      stdout: 'pipe',
      stderr: descriptor,
    });
    stops.defer(() => child.kill('SIGKILL'));
    let printed = '';
    for await (const bytes of child.stdout) {
      printed += Buffer.from(bytes).toString();
      if (/^Admin/m.test(printed)) break;
    }
    const port = Number(/^Channels .*:(\d+) /m.exec(printed)?.[1]);

    await using client = await RawClient.connect({ port });
    for (let at = 0; at < 10; at++) {
      await client.subscribe(`news-${at}`);
      await trigger({ port }, { name: 'e', channel: `news-${at}`, data: 'x' });
      expect(await client.receive()).toMatchObject({ event: 'e' });
      expect((await endpoint.events.next()).channel).toBe(`news-${at}`);
      // Each refusal is logged.
      const refused = await api({ port }, 'GET', `/apps/${APP.id}/channels`, { secret: 'wrong' });
      expect(refused.status).toBe(401);
    }
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
  });
});

describe('the log while strangers send bad requests', () => {
  it('has a limited number of lines per app, whatever number of addresses its clients use', async () => {
    // Each thread has these limits.
    const config = { trustedProxies: ['127.0.0.1'] };
    await using server = await startFanfare({ config, threads: 1 });
    const socket = connect(server.port, '127.0.0.1');
    let answers = 0;
    let answered: (() => void) | undefined;
    socket.on('data', (bytes) => {
      answers += bytes.toString('latin1').split('HTTP/1.1 ').length - 1;
      answered?.();
    });
    const ADDRESSES = 1_100;
    const ROUNDS = 8;
    const beganMs = performance.now();
    for (let round = 0; round < ROUNDS; round++) {
      await using client = await RawClient.connect(server);
      for (let count = 0; count < 50; count++) {
        client.send({ event: 'pusher:subscribe', data: { channel: 'private-a', auth: 'wrong' } });
      }
      for (let count = 0; count < 50; count++) await client.receive();
      for (let address = 0; address < ADDRESSES; address++) {
        const sender = `2001:db8:${round.toString(16)}:${address.toString(16)}::1`;
        socket.write(`GET /x HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${sender}\r\n\r\n`);
      }
      while (answers < (round + 1) * ADDRESSES) {
        await new Promise<void>((resolve) => {
          answered = resolve;
        });
      }
    }
    const seconds = (performance.now() - beganMs) / 1000;
    socket.destroy();
    await Bun.sleep(200);
    const lines = server.output.stderr.split('\n');
    const ofApp = lines.filter((line) => line.includes('"Subscription refused"')).length;
    const ofAddresses = lines.filter((line) => line.includes('"Request refused"')).length;
    expect(ofApp).toBeWithin(50, 50 + seconds + 2);
    expect(ofAddresses).toBeWithin(200, 200 + 10 * seconds + 2);
  }, 180_000);
});
