import { describe, it } from 'bun:test';
import assert from 'node:assert/strict';
import { untrusted } from './certificate.fixture.ts';
import { FinishedHandshakes } from './finished-handshakes.ts';
import type { FromGuard, ToGuard } from './guard-worker.fixture.ts';
import { type HandshakeGuardOptions, startHandshakeGuard } from './handshake-guard.ts';
import { NOTICE_MS } from './handshake-sweep.ts';
import { RawConnection } from './raw-connection.fixture.ts';

const LIMIT = 10;

/** For a guard that only counts its rounds, by which a test can tell that another one does not. */
const NEVER_SWEEPS = { limitPerAddress: 1_000_000 };

/** What a connection of the server below gets when its request is complete. */
const ANSWER = 'hello, whoever you are';

const HALF_A_REQUEST = 'GET / HTTP/1.1\r\nHost: te';
const THE_OTHER_HALF = 'st\r\n\r\n';

/** The start of a TLS record that is said to hold 512 bytes of ClientHello. */
const HALF_A_CLIENT_HELLO = '\x16\x03\x01\x02\x00\x01';

/** The realtime loop of a test: it answers requests, upgrades, and knows what is finished. */
function serve({ tls = false } = {}) {
  const webSocketPorts = new Set<number>();
  const finished = new FinishedHandshakes(() => webSocketPorts);
  const server = Bun.serve<number>({
    hostname: '127.0.0.1',
    port: 0,
    ...(tls ? { tls: untrusted } : {}),
    fetch(request, server) {
      const from = server.requestIP(request);
      assert(from !== null);
      if (finished.watching) finished.noteRequest(from.address, from.port);
      if (server.upgrade(request, { data: from.port })) return;
      return new Response(ANSWER);
    },
    websocket: {
      open: (webSocket) => {
        webSocketPorts.add(webSocket.data);
      },
      close: (webSocket) => {
        webSocketPorts.delete(webSocket.data);
      },
      message: (webSocket, message) => {
        webSocket.send(message);
      },
    },
  });
  assert(server.port !== undefined);
  return {
    port: server.port,
    listeners: [{ port: server.port, tls }],
    finished,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

type Served = ReturnType<typeof serve>;

/** Counts the rounds of a guard, so that a test can wait until it has looked. */
class Rounds {
  count = 0;
  #waiting: { readonly until: number; readonly resolve: () => void }[] = [];

  begin(): void {
    this.count++;
    for (const { until, resolve } of this.#waiting) if (this.count >= until) resolve();
    this.#waiting = this.#waiting.filter(({ until }) => until > this.count);
  }

  /** Settles once one whole round was begun and ended after the call. */
  oneMore(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ until: this.count + 2, resolve });
    return promise;
  }
}

/** The guard as in the product: on a worker, asking the main thread by messages. */
function guardOnWorker({ listeners, finished }: Served, refused: (count: number) => void) {
  const worker = new Worker(new URL('./guard-worker.fixture.ts', import.meta.url));
  const tell = (message: ToGuard) => worker.postMessage(message);
  const rounds = new Rounds();
  const failures: string[] = [];

  worker.addEventListener('message', ({ data }: MessageEvent<FromGuard>) => {
    switch (data.type) {
      case 'round':
        return rounds.begin();
      case 'ask':
        return tell({ type: 'answer', ask: data.ask, ports: finished.suspect(data.address) });
      case 'refused':
        assert.equal(data.address, '127.0.0.1');
        return refused(data.count);
      case 'failed':
        failures.push(data.why);
        return;
      default:
        return data satisfies never;
    }
  });
  tell({ type: 'start', listeners, limitPerAddress: LIMIT });
  return { rounds, failures, [Symbol.asyncDispose]: async () => void (await worker.terminate()) };
}

/** The guard on this thread, with a clock of the test's own and hardly any pause. */
function guardHere({ listeners, finished }: Served, changed: Partial<HandshakeGuardOptions> = {}) {
  const rounds = new Rounds();
  const clock = { nowMs: 0 };
  const refused: number[] = [];
  const failures: unknown[] = [];
  const guard = startHandshakeGuard({
    listeners,
    limitPerAddress: LIMIT,
    finishedCount: () => {
      rounds.begin();
      return 0;
    },
    finishedPorts: async (address) => finished.suspect(address),
    refused: (_, count) => refused.push(count),
    failed: (error) => failures.push(error),
    intervalMs: 1,
    nowMs: () => clock.nowMs,
    ...changed,
  });
  assert(guard !== undefined);
  return {
    rounds,
    clock,
    refused,
    failures,
    [Symbol.dispose]: () => guard[Symbol.dispose](),
  };
}

/** Connections that are closed at the end of the test. */
class Clients implements Disposable {
  readonly #all = new DisposableStack();

  connect(count: number, port: number, options?: { tls: boolean }): Promise<RawConnection[]> {
    const connect = async () => this.#all.use(await RawConnection.to(port, options));
    return Promise.all(Array.from({ length: count }, connect));
  }

  async openWebSockets(count: number, port: number, scheme: 'ws' | 'wss'): Promise<WebSocket[]> {
    const open = async () => {
      const options = { tls: { rejectUnauthorized: false } };
      const webSocket = new WebSocket(`${scheme}://127.0.0.1:${port}/`, options);
      this.#all.defer(() => webSocket.terminate());
      await heard(webSocket, 'open');
      return webSocket;
    };
    return Promise.all(Array.from({ length: count }, open));
  }

  [Symbol.dispose](): void {
    this.#all.dispose();
  }
}

const heard = (from: WebSocket, event: 'open' | 'message') =>
  new Promise((resolve) => from.addEventListener(event, resolve, { once: true }));

const isOpen = (connection: RawConnection) => connection.isOpen;

if (process.platform !== 'linux') {
  it('is not there elsewhere than on Linux, and says so', () => {
    const guard = startHandshakeGuard({
      listeners: [],
      limitPerAddress: 1,
      finishedCount: () => 0,
      finishedPorts: async () => [],
      refused: () => undefined,
      failed: () => undefined,
    });
    assert.equal(guard, undefined);
  });
}

describe.if(process.platform === 'linux')('the guard of unfinished handshakes', () => {
  it('closes the newest over the limit, and lets the first ones finish', async () => {
    await using server = serve();
    const refused = { count: 0, all: Promise.withResolvers<void>() };
    await using guard = guardOnWorker(server, (count) => {
      refused.count += count;
      if (refused.count >= 20) refused.all.resolve();
    });
    using clients = new Clients();

    const first = await clients.connect(LIMIT, server.port);
    for (const connection of first) connection.says(HALF_A_REQUEST);
    // Two rounds are longer than a step of the kernel's clock, so these are older than the others.
    await guard.rounds.oneMore();
    const late = await clients.connect(20, server.port);
    for (const connection of late) connection.says(HALF_A_REQUEST);

    await Promise.all(late.map(({ closed }) => closed));
    await refused.all.promise;
    assert.equal(refused.count, 20);
    assert(first.every(isOpen));
    first[0]?.says(THE_OTHER_HALF);
    await first[0]?.hears(ANSWER);
    assert.deepEqual(guard.failures, []);
  });

  it('leaves WebSockets alone, however many they are', async () => {
    await using server = serve();
    await using guard = guardOnWorker(server, () => assert.fail('None is unfinished'));
    using clients = new Clients();

    const webSockets = await clients.openWebSockets(50, server.port, 'ws');
    await guard.rounds.oneMore();

    for (const webSocket of webSockets) webSocket.send('still there?');
    await Promise.all(webSockets.map((webSocket) => heard(webSocket, 'message')));
    assert.deepEqual(guard.failures, []);
  });

  it('leaves connections alone that were answered, also before the suspicion', async () => {
    await using server = serve();
    using clients = new Clients();
    const answered = await clients.connect(15, server.port);
    await Promise.all(answered.map((connection) => connection.requests(ANSWER)));

    using guard = guardHere(server);
    const late = await clients.connect(15, server.port);
    while (late.filter(isOpen).length > LIMIT) await guard.rounds.oneMore();

    assert(server.finished.watching);
    guard.clock.nowMs = NOTICE_MS;
    await guard.rounds.oneMore();
    await Promise.all(answered.map((connection) => connection.requests(ANSWER)));
    assert.equal(late.filter(isOpen).length, LIMIT);
    assert(answered.every(isOpen));
  });

  it('closes half a TLS handshake over the limit', async () => {
    await using server = serve({ tls: true });
    using clients = new Clients();
    using guard = guardHere(server);

    const half = await clients.connect(30, server.port);
    for (const connection of half) connection.says(HALF_A_CLIENT_HELLO);

    while (half.filter(isOpen).length > LIMIT) await guard.rounds.oneMore();
    await guard.rounds.oneMore();
    assert.equal(half.filter(isOpen).length, LIMIT);
    assert.deepEqual(guard.failures, []);
  });

  it('gives notice before it closes TLS connections, and spares those heard of', async () => {
    await using server = serve({ tls: true });
    using clients = new Clients();
    const keptAlive = await clients.connect(15, server.port, { tls: true });
    await Promise.all(keptAlive.map((connection) => connection.requests(ANSWER)));
    const webSockets = await clients.openWebSockets(15, server.port, 'wss');
    const silent = await clients.connect(15, server.port, { tls: true });

    using guard = guardHere(server);
    await guard.rounds.oneMore();
    assert(server.finished.watching);
    assert([...keptAlive, ...silent].every(isOpen));

    await Promise.all(keptAlive.map((connection) => connection.requests(ANSWER)));
    guard.clock.nowMs = NOTICE_MS;
    while (silent.filter(isOpen).length > LIMIT) await guard.rounds.oneMore();

    await guard.rounds.oneMore();
    assert.equal(silent.filter(isOpen).length, LIMIT);
    await Promise.all(keptAlive.map((connection) => connection.requests(ANSWER)));
    for (const webSocket of webSockets) webSocket.send('still there?');
    await Promise.all(webSockets.map((webSocket) => heard(webSocket, 'message')));
    assert.equal(
      guard.refused.reduce((sum, count) => sum + count, 0),
      5,
    );
  });

  it('looks no closer while all files that are open are accounted for', async () => {
    await using server = serve();
    using clients = new Clients();
    const rounds = new Rounds();
    using guard = guardHere(server, {
      finishedCount: () => {
        rounds.begin();
        return 1_000_000;
      },
    });
    const half = await clients.connect(30, server.port);
    await rounds.oneMore();
    assert(half.every(isOpen));
    assert.equal(server.finished.watching, false);
    assert.deepEqual(guard.refused, []);
  });

  it('stops when it is told to', async () => {
    await using server = serve();
    const stopped = guardHere(server);
    await stopped.rounds.oneMore();
    stopped[Symbol.dispose]();
    const before = stopped.rounds.count;

    using other = guardHere(server, NEVER_SWEEPS);
    for (let round = 0; round < 10; round++) await other.rounds.oneMore();
    assert.equal(stopped.rounds.count, before);
    assert.deepEqual(stopped.failures, []);
  });

  it('reports a failure once, and stops', async () => {
    await using server = serve();
    using clients = new Clients();
    const failed = Promise.withResolvers<unknown>();
    const failures: unknown[] = [];
    const broken = new Error('The realtime loop is gone');
    using guard = guardHere(server, {
      finishedPorts: () => Promise.reject(broken),
      failed: (error) => {
        failures.push(error);
        failed.resolve(error);
      },
    });
    const half = await clients.connect(30, server.port);
    assert.equal(await failed.promise, broken);
    const before = guard.rounds.count;

    using other = guardHere(server, NEVER_SWEEPS);
    for (let round = 0; round < 10; round++) await other.rounds.oneMore();
    assert.equal(guard.rounds.count, before);
    assert.equal(failures.length, 1);
    assert(half.every(isOpen));
  });
});
