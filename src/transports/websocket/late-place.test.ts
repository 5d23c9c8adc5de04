import { afterEach, describe, expect, it } from 'bun:test';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { eventually } from '../../../testing/eventually.ts';
import { appWith, hubWith } from '../../channels/hub.fixture.ts';
import { SocketMarks, shareSocketMarks } from '../../runtime/shared-memory/socket-marks.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import { listenForChannels } from '../channels-listener.ts';
import { ClientAddresses } from '../client-address.ts';
import { stageOf } from '../clients/clients.fixture.ts';
import { KeepAlive } from '../keep-alive.ts';
import { ClosingBytes } from './closing-bytes.ts';
import { Coalescer } from './coalescing/coalescer.ts';
import { WebSocketTransport } from './transport.ts';

/** A client whose place in the quota of its app is decided later, as over Redis. */

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A listener, and the answers that its clients wait for. */
function stage(settings: object = {}) {
  const hub = hubWith();
  const app = appWith(settings);
  const apps = new MemoryAppDirectory();
  apps.replace([app]);
  const waiting: ((isTaken: boolean) => void)[] = [];
  const places = { taken: 0, released: 0 };
  const quota = {
    async take() {
      const isTaken = await new Promise<boolean>((resolve) => waiting.push(resolve));
      if (isTaken) places.taken++;
      return isTaken;
    },
    release: () => void places.released++,
  };
  const { connections, clients, api, meter } = stageOf({ hub, apps, quota });
  const addresses = new ClientAddresses({
    host: '127.0.0.1',
    proxies: new TrustedProxies([]),
    log: hub.log,
    clock: monotonicTimers,
  });
  const sockets = new WebSocketTransport({
    clients,
    apps,
    connections,
    loop: {
      coalescer: new Coalescer({
        now: () => performance.now(),
        busyShare: () => 0,
        after: monotonicTimers.after,
        afterTurn: (run) => void setImmediate(run),
      }),
      closing: new ClosingBytes(1_000_000, monotonicTimers),
    },
    settings: { pathPrefix: '', clientFrameBytes: 10_000, sendBufferBytes: 1_000_000 },
    addresses,
    socketsInUse: new SocketMarks(shareSocketMarks()),
    rateLimitedLog: hub.rateLimitedLog,
  });
  const server = listenForChannels({
    settings: { host: '127.0.0.1', port: 0, pathPrefix: '', tls: undefined, reusePort: false },
    hub,
    sockets,
    fallback: { answer: () => new Response(null, { status: 404 }) },
    readers: { answer: () => new Response(null, { status: 404 }) },
    api,
    keepAlive: new KeepAlive(240),
    addresses,
    health: undefined,
    push: undefined,
    meter,
  });
  stops.push(() => server.stop(true));
  const asked = (count: number) =>
    eventually(
      () => waiting.length,
      (length) => length === count,
    );
  const path = `/app/${app.keys[0]?.key}?protocol=7`;
  const open = () => RawClient.open({ port: server.port ?? 0 }, { path });
  return {
    app,
    apps,
    hub,
    connections,
    waiting,
    asked,
    open,
    places,
    port: server.port,
  };
}

/** Settles when the one place that was taken was given back. */
async function releasedBy(places: { readonly taken: number; readonly released: number }) {
  await eventually(
    () => ({ ...places }),
    ({ taken, released }) => taken === 1 && released === 1,
  );
}

describe('a client whose place is decided later', () => {
  it('is greeted when it has its place, which it gives back', async () => {
    const { open, asked, waiting, places, connections } = stage();
    const opened = open();
    await asked(1);
    expect(connections.size).toBe(0);
    waiting[0]?.(true);
    const client = await opened;
    expect(await client.receive()).toMatchObject({ event: 'pusher:connection_established' });
    expect(places).toEqual({ taken: 1, released: 0 });
    await client[Symbol.asyncDispose]();
    await releasedBy(places);
  });

  it('receives only 4004 when there is none', async () => {
    const { open, asked, waiting, places } = stage();
    const opened = open();
    await asked(1);
    waiting[0]?.(false);
    const client = await opened;
    expect(await client.receive()).toMatchObject({ event: 'pusher:error', data: { code: 4004 } });
    expect(await client.closed).toMatchObject({ code: 4004 });
    expect(places).toEqual({ taken: 0, released: 0 });
  });

  it('leaves its place if it is gone when the place is there', async () => {
    const { port, app, asked, waiting, places, connections, hub } = stage();
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: port ?? 0,
      socket: { data: () => undefined },
    });
    socket.write(
      `GET /app/${app.keys[0]?.key}?protocol=7 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    await asked(1);
    socket.terminate();
    // Another connection is accepted after the end of the first one was seen.
    const response = await fetch(`http://127.0.0.1:${port}/`);
    await response.text();
    waiting[0]?.(true);
    await releasedBy(places);
    expect(connections.size).toBe(0);
    expect(hub.logged.map(({ message }) => message)).not.toContain('Connection refused');
  });

  it('is refused with 4003 if the app was disabled meanwhile', async () => {
    const { app, apps, open, asked, waiting, places } = stage();
    const opened = open();
    await asked(1);
    apps.replace([{ ...app, enabled: false }]);
    waiting[0]?.(true);
    const client = await opened;
    expect(await client.closed).toMatchObject({ code: 4003 });
    expect(places).toEqual({ taken: 1, released: 1 });
  });
});

describe('an authorised connection whose place is decided later', () => {
  const signIn = async (given: ReturnType<typeof stage>) => {
    const client = await given.open();
    const { data } = Object(await client.receive());
    const { socket_id: socketId } = JSON.parse(data);
    const connection = [...given.connections.all()].find((one) => one.socketId === socketId);
    if (connection === undefined) throw new Error('Not connected');
    connection.authorised = true;
    client.send({ event: 'pusher:ping' });
    expect(await client.receive()).toMatchObject({ event: 'pusher:pong' });
    await given.asked(1);
    // It asks once.
    client.send({ event: 'pusher:ping' });
    expect(await client.receive()).toMatchObject({ event: 'pusher:pong' });
    expect(given.waiting).toHaveLength(1);
    return client;
  };

  it('is ended with 4004 when there is none', async () => {
    const given = stage({ authorizedConnectionsOnly: true });
    const client = await signIn(given);
    given.waiting[0]?.(false);
    expect(await client.closed).toMatchObject({ code: 4004 });
    expect(given.places).toEqual({ taken: 0, released: 0 });
  });

  it('gives it back, also if it has closed before', async () => {
    const given = stage({ authorizedConnectionsOnly: true });
    const client = await signIn(given);
    await client[Symbol.asyncDispose]();
    await eventually(
      () => given.connections.size,
      (size) => size === 0,
    );
    given.waiting[0]?.(true);
    await releasedBy(given.places);
  });
});
