import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { MemoryDeliveries } from '../../../testing/memory-stores/deliveries.ts';
import { MemoryDevices } from '../../../testing/memory-stores/devices.ts';
import { MemoryPendingCompletionEvents } from '../../../testing/memory-stores/pending-completion-events.ts';
import { MemoryPublishes } from '../../../testing/memory-stores/publishes.ts';
import { MemoryStories } from '../../../testing/memory-stores/stories.ts';
import { keptLog } from '../../webhooks/webhooks.fixture.ts';
import type { PublishUnderWay } from '../model/delivery.ts';
import type { BeamsEventType } from '../model/instance.ts';
import type { PublishTarget } from '../model/publish.ts';
import { newPublishId } from '../model/publish-id.ts';
import { COMPLETION_GRACE_MS } from '../pending-completion-events.ts';
import type { PushWebhookSink } from '../webhooks/sink.ts';
import { CompletionEvents } from './completion-events.ts';

const CHECK_MS = 5_000;
const CLAIM_MS = 60_000;

const toInterests: PublishTarget = { kind: 'interests', names: ['hello'] };
const toUsers: PublishTarget = { kind: 'users', names: ['ann', 'bob'] };

/** What webhooks hear of, and when it is durable. */
class Sink implements PushWebhookSink {
  readonly told: string[] = [];
  readonly times: number[] = [];
  wanted: readonly BeamsEventType[] = [];
  /** What is told is kept as soon as this settles. */
  kept: Promise<void> = Promise.resolve();

  publishStarted(owner: string, { id, atMs }: { id: string; atMs: number }): Promise<void> {
    return this.hear(`${owner} start ${id}`, atMs);
  }
  publishFinished(owner: string, { id, atMs }: { id: string; atMs: number }): Promise<void> {
    return this.hear(`${owner} end ${id}`, atMs);
  }
  usersAttempted(
    owner: string,
    { id, atMs }: { id: string; atMs: number },
    { noDevices }: { noDevices: readonly string[] },
  ): Promise<void> {
    return this.hear(`${owner} users ${id} without ${noDevices}`, atMs);
  }
  reported(): void {
    throw new Error('no device reports anything here');
  }
  wants(_: string, type: BeamsEventType): boolean {
    return this.wanted.includes(type);
  }

  private hear(what: string, atMs: number): Promise<void> {
    this.told.push(what);
    this.times.push(atMs);
    return this.kept;
  }
}

let timers: FakeTime;
let publishes: MemoryPublishes;
let deliveries: MemoryDeliveries;
let stories: MemoryStories;
let pending: MemoryPendingCompletionEvents;
let sink: Sink;
let log: ReturnType<typeof keptLog>;
let instance: number;
let served: Map<number, string>;
let storeFaults: unknown[];
let servers: CompletionEvents[];

beforeEach(() => {
  timers = new FakeTime({ turns: 20 });
  const devices = new MemoryDevices();
  publishes = new MemoryPublishes(devices);
  deliveries = new MemoryDeliveries(publishes, devices);
  stories = new MemoryStories(publishes, devices);
  pending = new MemoryPendingCompletionEvents(publishes);
  sink = new Sink();
  log = keptLog();
  instance = devices.newInstance();
  served = new Map([[instance, 'one']]);
  storeFaults = [];
  servers = [];
});
afterEach(async () => {
  const ended = Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  await timers.advance(5_000);
  await ended;
});

function start(isAlone = false): CompletionEvents {
  const server = new CompletionEvents({
    publishes,
    stories,
    pending,
    sink,
    instanceId: (number) => served.get(number),
    isAlone,
    timers,
    storeFailed: (error) => void storeFaults.push(error),
    log,
  });
  servers.push(server);
  return server;
}

/** A publish that is to be planned. */
async function claimed(
  target = toInterests,
  webhookUrl: string | undefined = 'https://a.test/',
): Promise<PublishUnderWay> {
  const nowMs = timers.now();
  const id = newPublishId(nowMs);
  await publishes.accept({
    id,
    instance,
    createdAtMs: nowMs,
    sendAtMs: undefined,
    target,
    platforms: ['fcm'],
    webhookUrl,
    body: JSON.stringify({ [target.kind]: target.names, fcm: {}, webhookUrl }),
    idempotency: undefined,
    devicesMax: 0,
    pendingBytesMax: 0,
  });
  const claims = await deliveries.claimPlans({ nowMs, untilMs: nowMs + 1, limit: 100, except: [] });
  const claim = claims.find(({ publish }) => publish.id === id);
  if (claim === undefined) throw new Error('the publish is not to be planned');
  return claim.publish;
}

/** The same, and finished: it reaches nobody. */
async function finished(target?: PublishTarget, webhookUrl?: string): Promise<PublishUnderWay> {
  const publish = await claimed(target, webhookUrl);
  await deliveries.endPlanning({ publish: publish.number, after: 0, nowMs: timers.now() });
  return publish;
}

const isUntold = async ({ number }: PublishUnderWay) =>
  (await pending.finishedAtMs(number)) !== undefined;

describe('a publish', () => {
  it('is told of when it starts and when it ends, and is no longer pending when that is kept', async () => {
    const news = start();
    const publish = await claimed();
    news.started(publish);
    await deliveries.endPlanning({ publish: publish.number, after: 0, nowMs: timers.now() + 70 });
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.kept = promise;
    news.finished(publish);
    await timers.advance(100);
    expect(sink.told).toEqual([`one start ${publish.id}`, `one end ${publish.id}`]);
    expect(sink.times).toEqual([publish.dueAtMs, publish.dueAtMs + 70]);
    expect(await isUntold(publish)).toBe(true);
    resolve();
    await timers.advance(0);
    expect(await isUntold(publish)).toBe(false);
    await timers.advance(10 * CLAIM_MS);
    expect(sink.told).toHaveLength(2);
  });

  it('is told of to users too, if anybody wants to hear of that', async () => {
    const news = start();
    const unheard = await finished(toUsers, '');
    news.finished(unheard);
    await timers.advance(0);
    expect(sink.told).toEqual([]);
    expect(await isUntold(unheard)).toBe(false);
    sink.wanted = ['v1.PublishToUsersAttempt'];
    const heard = await finished(toUsers, '');
    news.finished(heard);
    await timers.advance(0);
    expect(sink.told).toEqual([`one users ${heard.id} without ann,bob`]);
    expect(await isUntold(heard)).toBe(false);
  });

  it('that nobody is told of asks nothing of the store', async () => {
    const news = start();
    const publish = await finished(toInterests, '');
    publishes.status = async () => {
      throw new Error('it was asked');
    };
    news.started(publish);
    news.finished(publish);
    await timers.advance(100);
    expect([sink.told, log.lines]).toEqual([[], []]);
  });
});

describe('the end of a publish', () => {
  it('that a dead server has left is told by another, after a while', async () => {
    start();
    const publish = await finished();
    await timers.advance(COMPLETION_GRACE_MS - 1);
    expect(sink.told).toEqual([]);
    await timers.advance(CHECK_MS);
    // Nobody knows whether the dead one has come to tell the start.
    expect(sink.told).toEqual([`one start ${publish.id}`, `one end ${publish.id}`]);
    expect(sink.times[1]).toBeGreaterThan(sink.times[0] ?? 0);
    expect(await isUntold(publish)).toBe(false);
  });

  it('that a dead server has left is told at the start of one that is alone', async () => {
    const some = [];
    for (let index = 0; index < 50; index++) some.push(await finished());
    start(true);
    await timers.advance(0);
    expect(sink.told.filter((what) => what.includes(' end '))).toEqual(
      some.map(({ id }) => `one end ${id}`),
    );
  });

  it('is told under the same time by whoever tells it', async () => {
    const news = start();
    const publish = await finished();
    sink.kept = new Promise(() => undefined);
    await timers.advance(20);
    news.finished(publish);
    await timers.advance(0);
    const ended = news[Symbol.asyncDispose]();
    await timers.advance(1_000);
    await ended;
    const first = sink.times.splice(0);
    expect(first).toHaveLength(2);
    sink.kept = Promise.resolve();
    start();
    await timers.advance(COMPLETION_GRACE_MS + CHECK_MS);
    expect(sink.times).toEqual(first);
  });

  it('is not told again by a server that is telling it, however long that takes', async () => {
    const news = start();
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.kept = promise;
    const publish = await finished();
    news.finished(publish);
    await timers.advance(3 * CLAIM_MS);
    expect(sink.told).toHaveLength(2);
    resolve();
    await timers.advance(3 * CLAIM_MS);
    expect(sink.told).toHaveLength(2);
    expect(await isUntold(publish)).toBe(false);
  });

  it('is told later where the store cannot be asked', async () => {
    const news = start();
    const publish = await finished();
    const { status } = publishes;
    publishes.status = () => Promise.reject(new Error('away'));
    news.finished(publish);
    await timers.advance(0);
    expect(log.lines).toEqual([expect.stringMatching(/could not be stored yet .*"why":"away"/)]);
    publishes.status = status;
    const claim = pending.claim;
    pending.claim = () => Promise.reject(new Error('away'));
    await timers.advance(COMPLETION_GRACE_MS + CHECK_MS);
    expect(storeFaults.length).toBeGreaterThan(0);
    expect(sink.told).toEqual([]);
    pending.claim = claim;
    await timers.advance(CHECK_MS);
    expect(sink.told).toEqual([`one start ${publish.id}`, `one end ${publish.id}`]);
    expect(await isUntold(publish)).toBe(false);
  });

  it('of an instance that this server does not serve is left to others', async () => {
    start();
    const publish = await finished();
    served.clear();
    await timers.advance(COMPLETION_GRACE_MS + CHECK_MS);
    expect([sink.told, await isUntold(publish)]).toEqual([[], true]);
    served.set(instance, 'one');
    await timers.advance(CLAIM_MS + CHECK_MS);
    expect([sink.told.length, await isUntold(publish)]).toEqual([2, false]);
  });

  it('is waited for when the server ends, but not for long', async () => {
    const news = start();
    const publish = await finished();
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.kept = promise;
    news.finished(publish);
    await timers.advance(0);
    let hasEnded = false;
    const ended = news[Symbol.asyncDispose]().then(() => {
      hasEnded = true;
    });
    await timers.advance(900);
    expect(hasEnded).toBe(false);
    resolve();
    await timers.advance(0);
    await ended;
    expect(await isUntold(publish)).toBe(false);

    const other = start();
    sink.kept = new Promise(() => undefined);
    const left = await finished();
    other.finished(left);
    await timers.advance(0);
    const gaveUp = other[Symbol.asyncDispose]();
    await timers.advance(1_000);
    await gaveUp;
    expect(await isUntold(left)).toBe(true);
  });
});
