import { expect, it } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { PushRequests, requestPush } from '../../../testing/clients/push-requests.ts';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { trigger } from '../../../testing/clients/sign.ts';
import { isLong } from '../../../testing/long-run.ts';
import { untrusted } from '../../../testing/servers/certificates.ts';
import { configOf, type Fanfare, spawnFanfare } from '../../../testing/servers/fanfare.ts';
import { makeMemoryGroup } from '../../../testing/servers/memory-group.ts';
import { INSTANCE, instanceSettings, pushSettings } from '../../../testing/servers/push-server.ts';
import { fillStore } from '../push/delivery-rows.ts';
import * as fills from './fills.ts';

/*
 * One app fills every bound of memory at once, on servers with little memory. The server must survive, and a client of
 * another app must get its events meanwhile. Where no control group can be made, what the process takes is compared with the
 * setting instead, and that is printed.
 */

const { ALL, LOUD, MIB } = fills;
const LONG_MS = 180_000;

/** Clients that do not read an event that is sent to all of them. */
const DEAF = 3_000;

interface Size {
  readonly mebibytes: number;
  readonly hasTls: boolean;
}

/** Accepts connections, and hands them on. */
async function listen(parts: AsyncDisposableStack, accept: (socket: Socket) => void) {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    accept(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  parts.defer(() => void server.close());
  return (server.address() as { port: number }).port;
}

/** Where clients without TLS reach a port that has it. */
function withoutTls(parts: AsyncDisposableStack, port: number): Promise<number> {
  return listen(parts, (client) => {
    const server = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
    server.on('error', () => client.destroy());
    client.on('close', () => server.destroy());
    client.pipe(server).pipe(client);
  });
}

/** A server of the attacked kind, and the honest client. */
async function stage({ mebibytes, hasTls }: Size) {
  await using parts = new AsyncDisposableStack();
  const group = makeMemoryGroup(mebibytes * MIB);
  if (typeof group === 'string') {
    console.warn(`Not run in a control group, but with the setting memoryBytes. ${group}`);
  } else {
    parts.use(group);
  }
  // The receivers of webhooks and of pushes: they accept, and do not answer.
  let pushes = 0;
  const hanging = await listen(parts, (socket) => {
    socket.on('data', (bytes) => {
      if (/^POST \/\d/.test(bytes.toString('latin1'))) pushes++;
    });
  });
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
  parts.defer(() => rmSync(directory, { recursive: true, force: true }));
  const instance = { ...instanceSettings(), limits: { publishesPerSecond: 0 } };
  const files = { certFile: join(directory, 'cert.pem'), keyFile: join(directory, 'key.pem') };
  writeFileSync(files.certFile, untrusted.cert);
  writeFileSync(files.keyFile, untrusted.key);
  const settings = configOf(directory, {
    // On a slow machine the honest client is silent for long, and it answers no pings.
    channels: { activityTimeoutSeconds: 600 },
    moreApps: [
      {
        id: 'loud',
        keys: [LOUD],
        clientEvents: true,
        history: [{ channels: 'kept-*', events: 10_000, bytes: 64 * MIB }],
        limits: { historyBytes: 0 },
        webhooks: [
          { url: `http://127.0.0.1:${hanging}/`, events: ['channel_occupied', 'client_event'] },
        ],
      },
    ],
    config: {
      ...(typeof group === 'string' && { memoryBytes: mebibytes * MIB }),
      ...(hasTls && { tls: files }),
      realtime: { threads: 1 },
      log: { level: 'info', format: 'json' },
      webhooks: { allowPrivateAddresses: true },
      push: pushSettings(instance),
    },
  });
  const config = join(directory, 'config.json');
  writeFileSync(config, JSON.stringify(settings));
  const browsers = fills.browsersAt(hanging, 20 * mebibytes, instance.web.allowedHosts);
  await fillStore(`sqlite:${join(directory, 'fanfare.db')}`, INSTANCE.id, ALL, browsers);
  const server = parts.use(
    await spawnFanfare(
      ['serve', '--config', config],
      directory,
      {},
      typeof group === 'string' ? {} : { command: group.command },
    ),
  );
  const plain = !hasTls
    ? server
    : Object.assign(Object.create(server) as Fanfare, {
        port: await withoutTls(parts, server.port),
        pushPort: await withoutTls(parts, server.pushPort),
      });
  const honest = parts.use(await RawClient.connect(plain, { transport: 'ws' }));
  await honest.subscribe('mine');
  const open = parts.adopt(new DisposableStack(), (stack) => stack.dispose());
  const running = parts.move();
  return {
    ...{ server, plain, hasTls, honest, group, open, pushes: () => pushes },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The memory of the process, without the pages of files, which the system can take back. */
function anonymousBytes({ process }: Fanfare): number {
  const status = readFileSync(`/proc/${process.pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}

it.each([
  // Connections need more memory with TLS.
  { mebibytes: 256, hasTls: true },
  // The bounds grow with the memory, and twice as much takes twice the time.
  ...(isLong
    ? [
        { mebibytes: 256, hasTls: false },
        { mebibytes: 512, hasTls: false },
      ]
    : []),
])(
  'a server with $mebibytes MiB (TLS: $hasTls) survives when all bounds are reached at once, and other apps are served',
  async (size) => {
    const { mebibytes, hasTls } = size;
    await using staged = await stage(size);
    const { server, plain, honest, group } = staged;
    let most = 0;
    const look = () => {
      const used = typeof group === 'string' ? anonymousBytes(server) : group.usedBytes();
      most = Math.max(most, used);
    };
    const looking = setInterval(look, 50);
    using _stopLooking = { [Symbol.dispose]: () => clearInterval(looking) };

    const served = async (text: string) => {
      await trigger(plain, { name: 'e', channel: 'mine', data: text });
      expect(await honest.receive()).toMatchObject({ event: 'e', data: text });
    };
    await fills.openSessions(staged, 300);
    await served('among sessions');
    await fills.openWebSockets(staged, {
      ...(hasTls ? { count: mebibytes * 4, channels: 20 } : { count: mebibytes * 16, channels: 6 }),
      deaf: DEAF,
    });
    await served('among all connections');
    // The server closes them by itself after 12 s.
    await fills.openIdleConnections(staged, mebibytes * (hasTls ? 4 : 8));
    await served('among idle connections');
    await fills.openPushConnections(staged, mebibytes * (hasTls ? 1 : 2));
    await served('among push connections');
    const requests = new PushRequests(INSTANCE);
    const news = { interests: [ALL], web: { notification: { title: 'x'.repeat(2_000) } } };
    for (let n = 0; n < 4; n++) await requestPush(plain, requests.publish(news));
    await served('beside devices');
    const cached = { channel: (n: number) => `cache-${n}`, data: 'я'.repeat(300) };
    await fills.publish(staged, { ...cached, total: mebibytes * 13_000 });
    const kept = { channel: (n: number) => `kept-${n % 10}`, data: 'я'.repeat(5_000) };
    await fills.publish(staged, { ...kept, total: mebibytes * 12_000 });
    await served('beside what is remembered');
    // A client's own system takes the first 64 KB, and this is more than all bounds and all memory for all of them.
    const hot = { channel: () => 'hot', data: 'x'.repeat(10_000) };
    await fills.publish(staged, { ...hot, total: 800_000 });
    await served('beside what is not read');
    await fills.openRequests(staged);
    await served('beside requests');
    await fills.flood(staged);
    for (let n = 0; n < 10; n++) await served(`to the end: ${n}`);

    look();
    expect([server.process.exitCode, server.process.signalCode]).toEqual([null, null]);
    expect(most).toBeLessThan(mebibytes * MIB);
    if (typeof group !== 'string') expect(group.kills()).toBe(0);
    // The devices of the publishes are in memory, and the requests to their push service are not answered.
    expect(staged.pushes()).toBeGreaterThan(50);
    const { stderr } = server.output;
    // What must have happened at the bounds.
    for (const line of [
      `"memoryMiB":${mebibytes}`,
      'Over capacity',
      'Idle connections closed',
      'limit of subscriptions',
      'read too slowly',
      'do not read, and hold too much memory',
      'Server is overloaded',
      'Too many answers',
    ]) {
      expect([line, stderr.includes(line)]).toEqual([line, true]);
    }
  },
  LONG_MS,
);
