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

/** Records the webhook requests, and decides when they are durable. */
class Sink implements PushWebhookSink {
  readonly sent: string[] = [];
  readonly times: number[] = [];
  wanted: readonly BeamsEventType[] = [];
  /** Requests are durable as soon as this settles. */
  kept: Promise<void> = Promise.resolve();

  publishStarted(owner: string, { id, atMs }: { id: string; atMs: number }): Promise<void> {
    return this.record(`${owner} start ${id}`, atMs);
  }
  publishFinished(owner: string, { id, atMs }: { id: string; atMs: number }): Promise<void> {
    return this.record(`${owner} end ${id}`, atMs);
  }
  usersAttempted(
    owner: string,
    { id, atMs, noDevices }: { id: string; atMs: number; noDevices: readonly string[] },
  ): Promise<void> {
    return this.record(`${owner} users ${id} without ${noDevices}`, atMs);
  }
  reported(): void {
    throw new Error('no device reports anything here');
  }
  wants(_: string, type: BeamsEventType): boolean {
    return this.wanted.includes(type);
  }

  private record(what: string, atMs: number): Promise<void> {
    this.sent.push(what);
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

/** A publish whose plan is claimed. */
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

/** A publish that finished without devices. */
async function finished(target?: PublishTarget, webhookUrl?: string): Promise<PublishUnderWay> {
  const publish = await claimed(target, webhookUrl);
  await deliveries.endPlanning({ publish: publish.number, after: 0, nowMs: timers.now() });
  return publish;
}

const isPending = async ({ number }: PublishUnderWay) =>
  (await pending.finishedAtMs(number)) !== undefined;

describe('a publish', () => {
  it('is reported at its start and its end, and is not pending once that is stored', async () => {
    const events = start();
    const publish = await claimed();
    events.started(publish);
    await deliveries.endPlanning({ publish: publish.number, after: 0, nowMs: timers.now() + 70 });
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.kept = promise;
    events.finished(publish);
    await timers.advance(100);
    expect(sink.sent).toEqual([`one start ${publish.id}`, `one end ${publish.id}`]);
    expect(sink.times).toEqual([publish.dueAtMs, publish.dueAtMs + 70]);
    expect(await isPending(publish)).toBe(true);
    resolve();
    await timers.advance(0);
    expect(await isPending(publish)).toBe(false);
    await timers.advance(10 * CLAIM_MS);
    expect(sink.sent).toHaveLength(2);
  });

  it('to users is reported to the webhooks of the instance, if one wants that event', async () => {
    const events = start();
    const unwanted = await finished(toUsers, '');
    events.finished(unwanted);
    await timers.advance(0);
    expect(sink.sent).toEqual([]);
    expect(await isPending(unwanted)).toBe(false);
    sink.wanted = ['v1.PublishToUsersAttempt'];
    const wanted = await finished(toUsers, '');
    events.finished(wanted);
    await timers.advance(0);
    expect(sink.sent).toEqual([`one users ${wanted.id} without ann,bob`]);
    expect(await isPending(wanted)).toBe(false);
  });

  it('without webhooks makes no call to the store', async () => {
    const events = start();
    const publish = await finished(toInterests, '');
    publishes.status = async () => {
      throw new Error('it was asked');
    };
    events.started(publish);
    events.finished(publish);
    await timers.advance(100);
    expect([sink.sent, log.lines]).toEqual([[], []]);
  });
});

describe('the end of a publish', () => {
  it('is sent by another server after a crash', async () => {
    start();
    const publish = await finished();
    await timers.advance(COMPLETION_GRACE_MS - 1);
    expect(sink.sent).toEqual([]);
    await timers.advance(CHECK_MS);
    // The server that crashed may not have sent the start.
    expect(sink.sent).toEqual([`one start ${publish.id}`, `one end ${publish.id}`]);
    expect(sink.times[1]).toBeGreaterThan(sink.times[0] ?? 0);
    expect(await isPending(publish)).toBe(false);
  });

  it('is sent at the start of the only server after a crash', async () => {
    const some = [];
    for (let index = 0; index < 50; index++) some.push(await finished());
    start(true);
    await timers.advance(0);
    expect(sink.sent.filter((what) => what.includes(' end '))).toEqual(
      some.map(({ id }) => `one end ${id}`),
    );
  });

  it('is sent at the start of the only server, though the one that crashed had claimed it', async () => {
    const some = [];
    for (let index = 0; index < 50; index++) some.push(await finished());
    sink.kept = new Promise(() => undefined);
    start(true);
    await timers.advance(1);
    sink.sent.length = 0;
    sink.kept = Promise.resolve();
    start(true);
    await timers.advance(0);
    expect(sink.sent.filter((what) => what.includes(' end ')).toSorted()).toEqual(
      some.map(({ id }) => `one end ${id}`).toSorted(),
    );
  });

  it('is claimed once at the start of the only server, if its instance is not served', async () => {
    for (let index = 0; index < 50; index++) await finished();
    served.clear();
    let claims = 0;
    const claim = pending.claim.bind(pending);
    pending.claim = async (wanted) => {
      timers.setClock(1);
      claims++;
      return claims > 10 ? [] : await claim(wanted);
    };
    start(true);
    await timers.advance(CHECK_MS - 1);
    expect(claims).toBe(3);
  });

  it('has the same time whichever server sends it', async () => {
    const events = start();
    const publish = await finished();
    sink.kept = new Promise(() => undefined);
    await timers.advance(20);
    events.finished(publish);
    await timers.advance(0);
    const ended = events[Symbol.asyncDispose]();
    await timers.advance(1_000);
    await ended;
    const first = sink.times.splice(0);
    expect(first).toHaveLength(2);
    sink.kept = Promise.resolve();
    start();
    await timers.advance(COMPLETION_GRACE_MS + CHECK_MS);
    expect(sink.times).toEqual(first);
  });

  it('is not sent twice by one server, however long sending takes', async () => {
    const events = start();
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.kept = promise;
    const publish = await finished();
    events.finished(publish);
    await timers.advance(3 * CLAIM_MS);
    expect(sink.sent).toHaveLength(2);
    resolve();
    await timers.advance(3 * CLAIM_MS);
    expect(sink.sent).toHaveLength(2);
    expect(await isPending(publish)).toBe(false);
  });

  it('is sent later if the store fails', async () => {
    const events = start();
    const publish = await finished();
    const { status } = publishes;
    publishes.status = () => Promise.reject(new Error('away'));
    events.finished(publish);
    await timers.advance(0);
    expect(log.lines).toEqual([expect.stringMatching(/could not be stored yet .*"why":"away"/)]);
    publishes.status = status;
    const claim = pending.claim;
    pending.claim = () => Promise.reject(new Error('away'));
    await timers.advance(COMPLETION_GRACE_MS + CHECK_MS);
    expect(storeFaults.length).toBeGreaterThan(0);
    expect(sink.sent).toEqual([]);
    pending.claim = claim;
    await timers.advance(CHECK_MS);
    expect(sink.sent).toEqual([`one start ${publish.id}`, `one end ${publish.id}`]);
    expect(await isPending(publish)).toBe(false);
  });

  it('of an instance that this server does not serve is left to others', async () => {
    start();
    const publish = await finished();
    served.clear();
    await timers.advance(COMPLETION_GRACE_MS + CHECK_MS);
    expect([sink.sent, await isPending(publish)]).toEqual([[], true]);
    served.set(instance, 'one');
    await timers.advance(CLAIM_MS + CHECK_MS);
    expect([sink.sent.length, await isPending(publish)]).toEqual([2, false]);
  });

  it('is waited for at the stop of the server, but not for long', async () => {
    const events = start();
    const publish = await finished();
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.kept = promise;
    events.finished(publish);
    await timers.advance(0);
    let hasEnded = false;
    const ended = events[Symbol.asyncDispose]().then(() => {
      hasEnded = true;
    });
    await timers.advance(900);
    expect(hasEnded).toBe(false);
    resolve();
    await timers.advance(0);
    await ended;
    expect(await isPending(publish)).toBe(false);

    const other = start();
    sink.kept = new Promise(() => undefined);
    const left = await finished();
    other.finished(left);
    await timers.advance(0);
    const gaveUp = other[Symbol.asyncDispose]();
    await timers.advance(1_000);
    await gaveUp;
    expect(await isPending(left)).toBe(true);
  });
});
