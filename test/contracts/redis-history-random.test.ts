import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { ChannelText } from '../../src/channels/channel-name.ts';
import { type Topic, topicOf } from '../../src/channels/event.ts';
import { type EventId, numberOf } from '../../src/channels/history/event-id.ts';
import type { Audience, SendOptions } from '../../src/channels/ports.ts';
import type { SocketId } from '../../src/channels/socket-id.ts';
import { LocalChannels } from '../../src/channels/subscribing/local-channels.ts';
import { eventMessage } from '../../src/channels/wire.ts';
import { runs, testSeed } from '../../testing/long-run.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { type RedisLoop, RedisLoops } from './redis-loops.ts';
import { appWithHistory, channel } from './values.ts';

/** Random publishes, cuts, deaths and losses of data, while clients come and go and resume. */

const STEPS = runs(300, 100_000);
const STEPS_PER_ROUND = 100;
const LOOPS = 3;
const CLIENTS = 12;
const CHANNELS = ['kept-a', 'kept-b', 'short'];
const FINISHED_MS_MAX = 120_000;

/** How long a link may take to reach Redis again: it does so in real time, however fast the clock of the test goes. */
const RECONNECTED_MS_MAX = 60_000;

const app = appWithHistory([
  { channels: 'kept-*', events: 1000 },
  { channels: 'short', events: 4 },
]);

/** The random numbers of a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A client that resumes. Its events must have consecutive numbers, unless it was notified of a gap. */
class Client {
  readonly text: string;
  place: EventId | 'none' = 'none';
  readonly received = new Set<EventId>();
  gaps = 0;
  socketId: SocketId | undefined;
  private readonly problems: unknown[];

  constructor(text: string, problems: unknown[]) {
    this.text = text;
    this.problems = problems;
  }

  receive(frame: string): void {
    const id: EventId | undefined = JSON.parse(frame).id;
    if (id === undefined) return;
    const isNext = this.place === 'none' || numberOf(id) === numberOf(this.place) + 1;
    // The first event of a history that began anew, while the client received everything.
    if (!isNext && numberOf(id) !== 1) {
      this.problems.push(new Error(`${this.text}: ${id} after ${this.place}`));
    }
    this.place = id;
    this.received.add(id);
  }
}

/** The clients of one loop. */
class Node implements Pick<Audience, 'send'> {
  loop!: RedisLoop;
  private readonly byTopic = new Map<Topic, Set<Client>>();
  /** Clients that are entering; `isEnded`: their connection has ended meanwhile. */
  private readonly entering = new Map<Client, { isEnded: boolean }>();
  private readonly channels = new LocalChannels();
  private readonly number: number;
  private connections = 0;
  private readonly problems: unknown[];

  constructor(number: number, problems: unknown[]) {
    this.number = number;
    this.problems = problems;
  }

  send(topic: Topic, makeFrame: () => string, { except }: SendOptions = {}): number {
    const received = [...(this.byTopic.get(topic) ?? [])].filter((one) => one.socketId !== except);
    for (const client of received) client.receive(makeFrame());
    return received.length;
  }

  /** Returns whether it has entered, and its connection has not ended meanwhile. */
  async join(client: Client): Promise<boolean> {
    const name = channel(client.text);
    const { subscriptions, shared } = this.channels.enter(app, name, undefined);
    this.connections++;
    const socketId = `${this.number}.${this.connections}` as SocketId;
    const history = { place: { after: client.place, socketIds: [] }, roomBytes: 1e6 };
    const entry = {
      app,
      channel: name,
      held: subscriptions,
      member: undefined,
      newcomer: { socketId },
      history,
    };
    const connection = { isEnded: false };
    this.entering.set(client, connection);
    try {
      await this.loop.engine.join(entry, ({ history: found }) => {
        if (connection.isEnded) return;
        client.socketId = socketId;
        if (found === undefined) throw new Error(`${client.text} keeps no history`);
        const before = client.place;
        if (found.outcome === 'resumed') for (const frame of found.frames) client.receive(frame);
        else if (before !== 'none') client.gaps++;
        if (found.outcome === 'resumed' && client.place !== found.id) {
          this.problems.push(new Error(`Resumed after ${before}, and missed up to ${found.id}`));
        }
        client.place = found.id === '' ? 'none' : found.id;
        this.byTopic.set(shared.topic, (this.byTopic.get(shared.topic) ?? new Set()).add(client));
      });
    } catch (error) {
      this.channels.leave(app, shared.topic, undefined);
      throw error;
    } finally {
      this.entering.delete(client);
    }
    if (connection.isEnded) await this.leave(client);
    return !connection.isEnded;
  }

  /** Ends the connections that are entering a channel. Returns those that have entered it. */
  endEntering(text: string): readonly Client[] {
    for (const [client, connection] of this.entering) {
      if (client.text === text) connection.isEnded = true;
    }
    return [...(this.byTopic.get(topicOf(app, channel(text))) ?? [])];
  }

  async leave(client: Client): Promise<void> {
    const name = channel(client.text);
    const topic = topicOf(app, name);
    this.byTopic.get(topic)?.delete(client);
    const { subscriptions } = this.channels.leave(app, topic, undefined);
    const exit = { app, channel: name, held: subscriptions, userId: undefined };
    await this.loop.engine.leave(exit);
  }

  async publish(text: string, event: string): Promise<EventId | undefined> {
    const { text: name } = channel(text);
    const makeFrame = () => eventMessage(event, name, '');
    return await this.loop.engine.publish({
      app,
      channel: name,
      makeFrame,
      cause: 'backend',
      remember: undefined,
    });
  }
}

class Scene {
  readonly problems: unknown[] = [];
  readonly nodes: Node[] = [];
  readonly counts: Record<string, number> = {};
  readonly clients: Client[] = [];
  /** Where each client is, or is going. */
  private readonly at = new Map<Client, Node>();
  private readonly busy = new Set<Client>();
  private readonly cluster: RedisLoops;
  private readonly random: () => number;
  private readonly running = new Map<Promise<unknown>, Node>();
  /** Clients that must have an event, or have learned of another gap. */
  private readonly mustKnow: { client: Client; gaps: number; id: EventId }[] = [];
  private troubled = false;
  private numbered = 0;

  constructor(urls: readonly string[], seed: number) {
    this.cluster = new RedisLoops(urls, [app]);
    this.random = randomOf(seed);
    for (let n = 0; n < CLIENTS; n++) {
      this.clients.push(new Client(CHANNELS[n % CHANNELS.length] ?? '', this.problems));
    }
  }

  async addNode(): Promise<void> {
    this.numbered++;
    const node = new Node(this.numbered, this.problems);
    let isStarted = false;
    const fate = () => (isStarted ? this.fate() : 'answered');
    node.loop = await this.cluster.add({
      audience: node as unknown as Audience,
      fate,
      eventsLost: (lost) => {
        for (const { channel } of lost) this.endResuming(node, channel);
      },
    });
    isStarted = true;
    this.nodes.push(node);
  }

  async step(): Promise<void> {
    const awake = this.nodes.filter(({ loop }) => !loop.isSuspended);
    const node = this.pick(awake);
    if (node === undefined) return;
    const dice = this.random();
    if (dice < 0.5) {
      this.count('publish');
      const event = `event-${this.numbered++}`;
      const publishing = node.publish(this.pick(CHANNELS) ?? '', event);
      this.run(
        node,
        publishing.catch(() => undefined),
      );
    } else if (dice < 0.72) {
      this.comeOrGo(node);
    } else if (dice < 0.9) {
      await this.cluster.settled();
    } else if (dice < 0.92) {
      this.count('cut');
      const servers = this.nodes.flatMap(({ loop }) => loop.servers);
      await this.pick(servers)?.commands.run(['CLIENT', 'KILL', 'TYPE', 'pubsub']);
      do await Bun.sleep(5);
      while (servers.some(({ away }) => away !== undefined));
    } else if (dice < 0.97) {
      await this.cluster.advance(Math.floor(this.random() * 4000));
    } else if (dice < 0.98 && awake.length > 1) {
      this.count('suspend');
      await this.finish();
      this.cluster.suspend(node.loop);
    } else if (dice < 0.985) {
      this.count('kill');
      await this.kill(node);
    } else if (dice < 0.99) {
      this.count('data lost');
      await this.loseData(node);
    } else {
      const suspended = this.nodes.find(({ loop }) => loop.isSuspended);
      if (suspended !== undefined) this.cluster.resume(suspended.loop);
    }
  }

  setTrouble(isTroubled: boolean): void {
    this.troubled = isTroubled;
  }

  /** Ends all trouble. Then everybody has everything. */
  async compare(): Promise<void> {
    this.setTrouble(false);
    for (const { loop } of this.nodes) if (loop.isSuspended) this.cluster.resume(loop);
    await this.finish();
    await this.cluster.advance(25_000);
    await this.finish();
    for (const client of this.clients) {
      const [node] = this.nodes;
      if (node !== undefined && !this.at.has(client)) this.enter(node, client);
    }
    await this.finish();
    for (const text of CHANNELS) {
      const [node] = this.nodes;
      await node?.publish(text, 'last');
    }
    await this.cluster.settled();
    expect(this.problems).toEqual([]);
    for (const { client, gaps, id } of this.mustKnow.splice(0)) {
      const knows = client.received.has(id) || client.gaps > gaps;
      expect([client.text, id, knows]).toEqual([client.text, id, true]);
    }
    for (const text of CHANNELS) {
      const places = this.clients.filter((one) => one.text === text).map(({ place }) => place);
      expect([text, new Set(places).size]).toEqual([text, 1]);
    }
  }

  close(): Promise<void> {
    return this.cluster.close();
  }

  /** Publishes events that no loop receives, and which Redis forgets at once. Each client must get them, or learn of a gap. */
  private async loseData(node: Node): Promise<void> {
    const before = this.clients.map((client) => ({ client, gaps: client.gaps }));
    const hadPlace = before.filter(({ client }) => client.place !== 'none');
    const { servers } = node.loop;
    const killed = servers.map(({ commands }) =>
      commands.run(['CLIENT', 'KILL', 'TYPE', 'pubsub']),
    );
    const published = CHANNELS.map(async (text) => ({
      text,
      id: await node.publish(text, `event-${this.numbered++}`).catch(() => undefined),
    }));
    const flushed = servers.map(({ commands }) => commands.run(['FLUSHALL']));
    await Promise.allSettled([...killed, ...flushed]);
    do await Bun.sleep(5);
    while (this.nodes.some(({ loop }) => loop.servers.some(({ away }) => away !== undefined)));
    const all = Promise.all(published).then((accepted) => {
      for (const { text, id } of accepted) {
        const some = hadPlace.filter(({ client }) => client.text === text);
        if (id !== undefined) this.mustKnow.push(...some.map((one) => ({ ...one, id })));
      }
    });
    this.run(node, all);
    await this.cluster.advance(1);
  }

  private comeOrGo(node: Node): void {
    const client = this.pick(this.clients.filter((one) => !this.busy.has(one)));
    if (client === undefined) return;
    const at = this.at.get(client);
    if (at === undefined) return this.enter(node, client);
    if (at.loop.isSuspended) return;
    this.count('leave');
    this.at.delete(client);
    this.run(at, at.leave(client));
  }

  private enter(node: Node, client: Client): void {
    this.count('join');
    this.at.set(client, node);
    this.busy.add(client);
    const entering = node
      .join(client)
      .then((isIn) => void (isIn || this.at.delete(client)))
      .catch((error) => {
        this.at.delete(client);
        throw error;
      })
      .finally(() => this.busy.delete(client));
    this.run(node, entering);
  }

  /** What the transport does: the connections end before they get another event, and come back. */
  private endResuming(node: Node, name: ChannelText): void {
    for (const client of node.endEntering(name)) {
      this.count('ended');
      this.at.delete(client);
      this.run(node, node.leave(client));
    }
  }

  private async kill(node: Node): Promise<void> {
    await this.cluster.kill(node.loop);
    this.nodes.splice(this.nodes.indexOf(node), 1);
    for (const [client, at] of this.at) {
      if (at !== node) continue;
      this.at.delete(client);
      this.busy.delete(client);
    }
    await this.addNode();
  }

  private async finish(): Promise<void> {
    const isRunning = () => [...this.running.values()].some(({ loop }) => !loop.isDead);
    await this.cluster.settled();
    const endMs = performance.now() + RECONNECTED_MS_MAX;
    for (let ms = 0; isRunning(); ms += 250) {
      const isLate = ms > FINISHED_MS_MAX && performance.now() > endMs;
      if (isLate) throw new Error(`Something has not ended after ${ms} ms`);
      await this.cluster.advance(250);
    }
  }

  private run(node: Node, work: Promise<unknown>): void {
    const done = work
      .catch((error) => node.loop.isDead || this.problems.push(error))
      .finally(() => this.running.delete(done));
    this.running.set(done, node);
  }

  private fate(): 'answered' | 'reply-lost' | 'not-run' {
    if (!this.troubled) return 'answered';
    const dice = this.random();
    return dice < 0.01 ? 'reply-lost' : dice < 0.02 ? 'not-run' : 'answered';
  }

  private pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

describe('clients that resume over Redis', () => {
  let servers: readonly OwnRedis[];

  beforeAll(async () => {
    servers = [await startRedis(), await startRedis()];
  });

  afterAll(async () => {
    for (const redis of servers) await redis[Symbol.asyncDispose]();
  });

  it('get each event once and in order, or learn of the gap', async () => {
    const seed = testSeed();
    const scene = new Scene(
      servers.map(({ url }) => url),
      seed,
    );
    for (let n = 0; n < LOOPS; n++) await scene.addNode();
    let step = 0;
    try {
      for (; step < STEPS; step++) {
        if (step % STEPS_PER_ROUND === 0) scene.setTrouble(true);
        await scene.step();
        if (step % STEPS_PER_ROUND === STEPS_PER_ROUND - 1) await scene.compare();
      }
    } catch (error) {
      console.error(`TEST_SEED=${seed} repeats this, at step ${step}`);
      throw error;
    } finally {
      const got = scene.clients.reduce((sum, one) => sum + one.received.size, 0);
      const gaps = scene.clients.reduce((sum, one) => sum + one.gaps, 0);
      console.info(`seed ${seed}`, { ...scene.counts, got, gaps });
      await scene.close();
    }
  }, 1_800_000);
});
