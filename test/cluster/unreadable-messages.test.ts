import { expect, it } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { admin } from '../../testing/clients/admin-api.ts';
import { LiveStream } from '../../testing/clients/live-stream.ts';
import { eventually } from '../../testing/eventually.ts';
import { runs, testSeed } from '../../testing/long-run.ts';
import { Random } from '../../testing/random.ts';
import { APP } from '../../testing/servers/fanfare.ts';
import { TestHistory } from '../../testing/verify/test-history.ts';
import { type Cluster, ROOM, startCluster } from './cluster.ts';
import { View } from './view.ts';

/** Messages in Redis that no server of this version has written: servers drop, count and log them, and go on. */

const TRUNCATED = runs(300, 20_000);
const RANDOM = runs(300, 20_000);

/** A connection that sends any bytes to Redis. */
class Publisher implements AsyncDisposable {
  private readonly socket: Socket;
  private replies = '';

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (bytes) => {
      this.replies += bytes.toString();
    });
  }

  publish(stream: string, message: string | Uint8Array): void {
    this.send(['PUBLISH', stream, message]);
  }

  send(parts: readonly (string | Uint8Array)[]): void {
    this.socket.write(`*${parts.length}\r\n`);
    for (const part of parts.map((one) => Buffer.from(one))) {
      this.socket.write(`$${part.length}\r\n`);
      this.socket.write(part);
      this.socket.write('\r\n');
    }
  }

  /** Settles when Redis has taken everything. */
  async sent(): Promise<void> {
    this.send(['ECHO', 'all-was-sent']);
    await eventually(
      () => this.replies.includes('all-was-sent'),
      (isSent) => isSent,
    );
    this.replies = '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
  }
}

/** Texts that look like messages about topics and of loops, with wrong values. */
function wrongMessages() {
  const numbers = ['', '0', '7', '9007199254740993', '9'.repeat(400), '-1', '1e9', 'NaN'];
  const kinds = ['e', '#', '+', '-', 'x', '?', ''];
  const ask = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const asks = [
    ask(null),
    ask([]),
    ask({ userIds: 7 }),
    ask(deep),
    '!!!',
    Buffer.from(deep).toString('base64url'),
  ];
  const rests = [
    ...[
      '',
      '\n',
      '\n\n',
      '\n\n{',
      '1.2\nbackend\n{}x',
      'x\ny\nz',
      '1e999',
      '-3',
      '\nann\n{"n":',
      deep,
    ],
    ...asks.map((one) => `\nbackend t ${one}\n{"event":"forged"}`),
  ];
  const values = [null, 7, 'x', [], {}, [null], { type: 7 }, deep];
  const json = [
    ...values,
    ...values.map((receive) => ({ type: 'session', ask: 'receive', request: 1, receive })),
    ...values.map((request) => ({ type: 'session', ask: 'ended', request })),
    ...values.map((send) => ({ type: 'session', ask: 'send', send })),
    ...values.map((answer) => ({ type: 'session', answer, request: answer })),
    ...values.map((connections) => ({ what: 'asked', attempt: 1, connections })),
    ...values.map((apps) => ({ type: 'watch', node: 'x', apps })),
    ...values.map((one) => ({ type: 'watch', node: 'x', apps: [{ id: APP.id, filters: [one] }] })),
    ...values.map((one) => ({
      type: 'ticks',
      node: 'x',
      ticks: [{ appId: APP.id, loop: 'x', records: [one], heard: [one], skipped: {}, counts: one }],
    })),
    ...values.map((question) => ({ type: 'ask', node: 'x', number: 1, form: 1, question })),
  ].map((one) => JSON.stringify(one));
  const loops = ['x', '', 'all', crypto.randomUUID()];
  return {
    ofTopics: numbers.flatMap((number) =>
      kinds.flatMap((kind) => rests.map((rest) => number + kind + rest)),
    ),
    ofLoops: loops.flatMap((loop) =>
      ['0', '1', 'r', '', 'x', '9'.repeat(30)].flatMap((number) =>
        [...json, deep, 'not json', '"'].map((text) => `${loop}\n${number}\n${text}`),
      ),
    ),
  };
}

/** The messages that a kind of traffic has published, by stream. */
async function recorded(port: number, traffic: () => Promise<void>) {
  const messages: (readonly [stream: string, message: string])[] = [];
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
  });
  socket.write('PSUBSCRIBE *\r\n');
  await eventually(
    () => text,
    (all) => all.includes('psubscribe'),
  );
  await traffic();
  socket.destroy();
  const lines = /\$8\r\npmessage\r\n\$1\r\n\*\r\n\$\d+\r\n([^\r]*)\r\n\$(\d+)\r\n/g;
  for (const found of text.matchAll(lines)) {
    const at = found.index + found[0].length;
    messages.push([found[1] ?? '', text.slice(at, at + Number(found[2]))]);
  }
  return messages;
}

/** What all clients must still get. */
async function goesOn(
  { apps }: Cluster,
  views: readonly View[],
  { name, history }: { readonly name: string; readonly history: TestHistory },
): Promise<void> {
  for (const [n, app] of apps.entries()) {
    const e = `${name}-${n}`;
    history.add('trigger', { e, ch: [ROOM] });
    await app.trigger({ name: e, channel: ROOM, data: 'x' });
    history.add('answer', { e, status: 200 });
    for (const view of views) await view.receive(ROOM, `${name}-${n}`);
    await using guest = await View.open(app, history);
    await guest.signsIn(`${name}-${n}`, ['ann', 'bob']);
    await guest.enters(ROOM, `${name}-${n}`);
    for (const view of views) {
      await eventually(
        () => view.membersOf(ROOM),
        (all) => all.includes(`${name}-${n}`),
      );
    }
    await eventually(
      () => [...guest.online].toSorted().join(),
      (online) => online === 'ann,bob',
    );
  }
  for (const view of views) {
    await eventually(
      () => view.membersOf(ROOM).join(),
      (all) => all === 'ann,bob',
    );
    expect(view.problems).toEqual([]);
  }
}

it('servers and their clients go on, whatever is published on any stream', async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using cluster = await startCluster(2, {
    app: { watchlists: true, subscriptionCounts: true },
  });
  const [first] = cluster.servers;
  const { port } = cluster.redis;
  if (first === undefined) throw new Error('There are two servers');
  await using parts = new AsyncDisposableStack();
  const publisher = parts.use(new Publisher(port));
  const history = parts.use(new TestHistory());
  const views: View[] = [];
  const real = await recorded(port, async () => {
    parts.use(await LiveStream.open({ ...first, nodes: cluster.servers }, APP.id));
    for (const [n, userId] of ['ann', 'bob'].entries()) {
      const app = cluster.apps[n];
      if (app === undefined) throw new Error(`There is no server ${n}`);
      const view = parts.use(await View.open(app, history));
      views.push(view);
      await view.signsIn(userId, ['ann', 'bob']);
      await view.enters(ROOM, userId);
      await view.enters('counted');
    }
    await goesOn(cluster, views, { name: 'before', history });
  });
  const streams = [...new Set(real.map(([stream]) => stream))].filter(
    (one) => !one.includes('probe'),
  );
  expect(streams.filter((one) => one.includes('loop:')).length).toBeGreaterThan(0);
  const wrong = wrongMessages();
  for (const stream of streams) {
    const messages = stream.includes('loop:') ? wrong.ofLoops : wrong.ofTopics;
    for (const message of messages) publisher.publish(stream, message);
    await publisher.sent();
    for (let n = 0; n < RANDOM / streams.length; n++) {
      publisher.publish(stream, crypto.getRandomValues(new Uint8Array(random.between(0, 200))));
    }
  }
  for (let n = 0; n < TRUNCATED; n++) {
    const [stream, message] = random.pick(real);
    // The probes of a server are its own.
    if (stream.includes('probe')) continue;
    publisher.publish(
      stream,
      Buffer.from(message.slice(0, random.between(0, message.length - 1)), 'latin1'),
    );
  }
  await publisher.sent();

  await goesOn(cluster, views, { name: 'after', history });
  await history.compare();
  expect(history.problems('members', 'present', 'counts')).toEqual([]);
  for (const server of cluster.servers) {
    expect(server.process.exitCode).toBeNull();
    const counts = await eventually(
      async () => {
        // A server that was cut off from Redis has missed all before.
        for (const stream of streams) publisher.publish(stream, 'x\n0\nx');
        const { text } = await admin(server, 'GET', '//metrics');
        return ['topic', 'loop', 'server'].map((from) => countOf(text, from));
      },
      (all) => all.every((count) => count > 0),
    );
    expect(counts).toHaveLength(3);
    const line = await server.logged(/Dropped a message that cannot be read/);
    expect(JSON.parse(line)).toMatchObject({ stream: expect.any(String), why: expect.any(String) });
    expect(server.output.stderr).not.toContain('could not be handled');
  }
}, 180_000);

/** How many messages were dropped. */
function countOf(metrics: string, from: string): number {
  const found = new RegExp(`fanfare_unreadable_messages_total\\{from="${from}"\\} (\\d+)`).exec(
    metrics,
  );
  return Number(found?.[1]);
}

it('a key of another type in Redis makes only its channel unusable, until it is deleted', async () => {
  await using cluster = await startCluster(1);
  const [app] = cluster.apps;
  if (app === undefined) throw new Error('There is one server');
  await using publisher = new Publisher(cluster.redis.port);
  const keyOf = (channel: string) => Bun.hash.xxHash32(`${APP.id}/${channel}`) % 64;
  const key = `fanfare:{${keyOf('broken')}}T:${APP.id}/broken`;
  publisher.send(['SET', key, 'no hash']);
  await publisher.sent();
  await using ann = await View.open(app);
  await ann.enters('whole');

  const event = { name: 'e', data: 'x' };
  expect((await app.post('/events', { ...event, channel: 'broken' })).status).toBe(503);
  expect((await app.post('/events', { ...event, channel: 'whole' })).status).toBe(200);
  await ann.receive('whole', 'e');
  publisher.send(['DEL', key]);
  await publisher.sent();
  expect((await app.post('/events', { ...event, channel: 'broken' })).status).toBe(200);
});
