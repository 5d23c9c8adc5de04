import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Audience } from '../../src/channels/ports.ts';
import { runs, testSeed } from '../../testing/long-run.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { RedisLoops } from './redis-loops.ts';
import { app, type Client, Node, STAYING, USERS } from './redis-node.ts';
import { channel } from './values.ts';

/** Random joins, leaves and failures, with every client's view held to a model. */

const STEPS = runs(600, 100_000);
const STEPS_PER_ROUND = 100;
const CHANNELS = ['presence-a', 'presence-b', 'presence-c', STAYING, 'news', 'cache-news'];
const LOOPS = 3;
/** A user is back in time who had left for so long. */
const BACK_MS = 3000;
/** Longer than anything waits for Redis, by the clock of the test. */
const FINISHED_MS_MAX = 120_000;

/** How long a link may take to reach Redis again: it does so in real time, however fast the clock of the test goes. */
const RECONNECTED_MS_MAX = 60_000;

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

class Scene {
  readonly problems: unknown[] = [];
  readonly nodes: Node[] = [];
  readonly counts: Record<string, number> = {};
  private readonly cluster: RedisLoops;
  private readonly random: () => number;
  private readonly running = new Map<Promise<unknown>, Node>();
  /** The ids of webhook events, of which the outbox keeps each once. */
  private readonly webhookIds = new Set<string>();
  /** What webhooks report of each channel and member: whether it is there. */
  private readonly isOn = new Map<string, boolean>();
  /** Events of this round. */
  private readonly published = new Set<string>();
  private troubled = false;
  private numbered = 0;

  constructor(urls: readonly string[], seed: number) {
    this.cluster = new RedisLoops(urls, [app]);
    this.random = randomOf(seed);
  }

  async addNode(): Promise<void> {
    this.numbered++;
    const node = new Node(this.numbered, this.problems);
    const audience = node as unknown as Audience;
    let isStarted = false;
    const fate = () => (isStarted ? this.fate() : 'answered');
    node.loop = await this.cluster.add({ audience, fate });
    isStarted = true;
    this.nodes.push(node);
    this.run(node, node.watch());
  }

  async step(): Promise<void> {
    const awake = this.nodes.filter(({ loop }) => !loop.isSuspended);
    const node = this.pick(awake);
    if (node === undefined) return;
    const dice = this.random();
    const text = this.pick(CHANNELS) ?? '';
    const userId = this.pick(USERS) ?? '';
    if (dice < 0.4) {
      this.count('join');
      this.run(node, node.join(text, text.startsWith('presence-') ? userId : undefined));
    } else if (dice < 0.72) {
      const client = this.pick([...node.clients]);
      if (client === undefined) return;
      const isLost = this.random() < 0.5;
      this.count(isLost ? 'lose' : 'leave');
      this.run(node, isLost ? node.lose(client) : node.leave(client));
    } else if (dice < 0.8) {
      this.count('publish');
      const event = `event-${this.numbered++}`;
      this.published.add(event);
      this.run(
        node,
        node.publish(text, event).catch(() => undefined),
      );
    } else if (dice < 0.85) {
      this.count('sign-in');
      this.run(node, node.signIn(userId));
    } else if (dice < 0.89) {
      this.count('sign-out');
      this.run(node, node.signOut(userId));
    } else if (dice < 0.97) {
      await this.cluster.settled();
    } else if (dice < 0.973) {
      this.count('cut');
      await this.cut(awake);
    } else if (dice < 0.985) {
      await this.cluster.advance(Math.floor(this.random() * 4000));
    } else if (dice < 0.993 && awake.length > 1) {
      this.count('suspend');
      await this.finish();
      this.cluster.suspend(node.loop);
    } else if (dice < 0.996) {
      this.count('kill');
      await this.cluster.kill(node.loop);
      this.nodes.splice(this.nodes.indexOf(node), 1);
      await this.addNode();
    } else {
      const suspended = this.nodes.find(({ loop }) => loop.isSuspended);
      if (suspended !== undefined) this.cluster.resume(suspended.loop);
    }
  }

  /** Ends all connections for subscriptions of one server, while users come and go. */
  private async cut(awake: readonly Node[]): Promise<void> {
    for (const { clients, entering } of this.nodes) {
      for (const client of [...clients, ...entering]) client.mayHaveMissed = true;
    }
    const servers = this.nodes.flatMap(({ loop }) => loop.servers);
    const killed = this.pick(servers)?.commands.run(['CLIENT', 'KILL', 'TYPE', 'pubsub']);
    for (const node of awake) {
      this.run(node, node.join('presence-a', this.pick(USERS)));
      this.run(node, node.join('news', undefined));
      const client = this.pick([...node.clients]);
      if (client !== undefined) this.run(node, node.leave(client));
    }
    await killed;
    do await Bun.sleep(10);
    while (servers.some(({ away }) => away !== undefined));
  }

  /** From here on scripts fail at random, or no more. */
  setTrouble(isTroubled: boolean): void {
    this.troubled = isTroubled;
  }

  /** Ends all trouble, and compares what everybody knows with the connections that there are. */
  async compare(): Promise<void> {
    this.setTrouble(false);
    await this.finish();
    // A suspended node is found dead, and comes back.
    await this.cluster.advance(15_000);
    for (const { loop } of this.nodes) if (loop.isSuspended) this.cluster.resume(loop);
    await this.cluster.advance(25_000);
    await this.reload();
    expect(this.problems).toEqual([]);
    const clients = this.nodes.flatMap((node) => [...node.clients]);
    for (const text of CHANNELS) {
      const inside = clients.filter((client) => client.text === text);
      const users = new Set(inside.flatMap(({ userId }) => userId ?? []));
      for (const { loop } of this.nodes) {
        const counts = await loop.engine.counts(app, channel(text));
        expect([text, counts]).toEqual([text, { subscriptions: inside.length, users: users.size }]);
        const members = await loop.engine.members(app, channel(text));
        expect(members.map(({ userId }) => userId).toSorted()).toEqual([...users].toSorted());
      }
      for (const client of inside) {
        expect([client.socketId, text, [...client.members].toSorted()]).toEqual([
          client.socketId,
          text,
          [...users].toSorted(),
        ]);
        if (users.size > 0) continue;
        expect([client.socketId, text, client.count]).toEqual([
          client.socketId,
          text,
          inside.length,
        ]);
      }
      await this.compareEvents(
        text,
        inside.filter(({ mayHaveMissed }) => !mayHaveMissed),
      );
    }
    this.published.clear();
    await this.compareLists(new Set(clients.map(({ text }) => text)));
    const online = new Set(this.nodes.flatMap(({ signedIn }) => [...signedIn.keys()]));
    for (const node of this.nodes) {
      expect([...node.online].toSorted()).toEqual([...online].toSorted());
    }
    this.compareWebhooks(clients);
  }

  /** All connections of a user end, and one comes back to another node in time: nobody hears of it. */
  private async reload(): Promise<void> {
    const inside = this.nodes.flatMap((node) =>
      [...node.clients].flatMap((client) => (client.text === STAYING ? [{ node, client }] : [])),
    );
    const userId = this.pick(inside)?.client.userId;
    const others = inside.filter(({ client }) => client.userId !== userId);
    const saw = others.map(({ client }) => client.seen.length);
    for (const { node, client } of inside) {
      if (client.userId === userId) await node.lose(client);
    }
    await this.cluster.advance(BACK_MS);
    if (userId !== undefined) await this.pick(this.nodes)?.join(STAYING, userId);
    await this.cluster.advance(2 * BACK_MS);
    for (const [at, { client }] of others.entries()) {
      const members = client.seen.slice(saw[at]).filter((one) => /^[-+]/.test(one));
      expect([client.socketId, members]).toEqual([client.socketId, []]);
    }
  }

  async close(): Promise<void> {
    await this.cluster.close();
  }

  /** All clients of a channel receive the same events in one order, each from its entry on, and the last one is remembered. */
  private async compareEvents(text: string, inside: readonly Client[]): Promise<void> {
    const longest = inside.reduce<readonly string[]>(
      (most, { events }) => (events.length > most.length ? events : most),
      [],
    );
    for (const { events } of inside) {
      expect(events).toEqual(longest.slice(longest.length - events.length));
    }
    const last = longest.at(-1);
    // An earlier one may have expired.
    if (last === undefined || !text.startsWith('cache-') || !this.published.has(last)) return;
    for (const { loop } of this.nodes) {
      expect((await loop.engine.cached(app, channel(text)))?.name).toBe(last);
    }
  }

  private async compareLists(occupied: ReadonlySet<string>): Promise<void> {
    for (const { loop } of this.nodes) {
      const walk = loop.engine.channels(app, { prefix: '', after: undefined });
      const listed: string[] = [];
      for (let more = true; more; ) {
        const { channels, next } = await walk.page(2);
        listed.push(...channels.map(([name]) => String(name)));
        more = next !== undefined;
      }
      expect(listed.toSorted()).toEqual([...occupied].toSorted());
      expect(await loop.engine.channelCountOf(app)).toBe(occupied.size);
    }
  }

  /** Each beginning and each end is reported once, in turns, and the last one is true. */
  private compareWebhooks(clients: readonly Client[]): void {
    const number = (id: string) => BigInt(id.slice(id.lastIndexOf(':') + 1));
    const reports = this.cluster.reported().flatMap(({ event, id }) => {
      expect(id).toBeDefined();
      if (id === undefined || this.webhookIds.has(id)) return [];
      this.webhookIds.add(id);
      const about = `${'channel' in event ? event.channel : ''} ${'user_id' in event ? event.user_id : ''}`;
      return [{ number: number(id), name: event.name, about }];
    });
    reports.sort((one, other) => (one.number < other.number ? -1 : 1));
    for (const { name, about } of reports) {
      const begins = name === 'channel_occupied' || name === 'member_added';
      expect([about, name, this.isOn.get(about) ?? false]).toEqual([about, name, !begins]);
      this.isOn.set(about, begins);
    }
    const on = [...this.isOn].flatMap(([about, is]) => (is ? [about] : []));
    const expected = new Set(
      clients.flatMap(({ text, userId }) => [
        `${text} `,
        ...(userId === undefined ? [] : [`${text} ${userId}`]),
      ]),
    );
    expect([...new Set(on).symmetricDifference(expected)]).toEqual([]);
  }

  /** Waits for all that was begun. What failed is tried again after a pause. */
  private async finish(): Promise<void> {
    const isRunning = () => [...this.running.values()].some(({ loop }) => !loop.isDead);
    const endMs = performance.now() + RECONNECTED_MS_MAX;
    for (let ms = 0; isRunning(); ms += 250) {
      const isLate = ms > FINISHED_MS_MAX && performance.now() > endMs;
      if (isLate) throw new Error(`Something has not ended after ${ms} ms`);
      await this.cluster.advance(250);
    }
  }

  private run(node: Node, work: Promise<unknown>): void {
    const done = work
      // What a dead node had begun is lost.
      .catch((error) => node.loop.isDead || this.problems.push(error))
      .finally(() => this.running.delete(done));
    this.running.set(done, node);
  }

  private fate(): 'answered' | 'reply-lost' | 'not-run' {
    if (!this.troubled) return 'answered';
    const dice = this.random();
    return dice < 0.02 ? 'reply-lost' : dice < 0.03 ? 'not-run' : 'answered';
  }

  private pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

describe('loops over Redis', () => {
  let servers: readonly OwnRedis[];

  beforeAll(async () => {
    servers = [await startRedis(), await startRedis()];
  });

  afterAll(async () => {
    for (const redis of servers) await redis[Symbol.asyncDispose]();
  });

  it('agree with a model, whatever nodes die, hang or repeat themselves', async () => {
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
      console.info(`seed ${seed}`, scene.counts);
      await scene.close();
    }
  }, 1_800_000);
});
