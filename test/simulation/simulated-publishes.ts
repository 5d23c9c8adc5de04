import { type Platform, platforms } from '../../src/push/model/device.ts';
import type { NewPublish, PublishId, PublishTarget } from '../../src/push/model/publish.ts';
import type { FakeTime } from '../../testing/fake-time.ts';
import type { MemoryDevices } from '../../testing/memory-stores/devices.ts';
import { MemoryPublishes } from '../../testing/memory-stores/publishes.ts';
import type { Random } from '../../testing/random.ts';

/** What devices and publishes may be interested in, and whom they may be for. */
export const interests = ['news', 'sport', 'hello'] as const;
export const users = ['ann', 'bob'] as const;

/** What the simulation knows about a publish beside the store. */
export interface SimulatedPublish {
  readonly publish: NewPublish;
  readonly dueAtMs: number;
  /** When it expires on each platform. */
  readonly endsAtMs: Readonly<Record<Platform, number>>;
  cancelledAtMs: number | undefined;
  started: number;
  finished: number;
  /** Devices that stay in its audience to the end. */
  readonly certain: Set<number>;
}

/** A publish to make. */
interface NewSimulated {
  readonly target: PublishTarget;
  readonly given: readonly Platform[];
  readonly sendAtMs: number | undefined;
  /** Times to live to choose from for each platform, in seconds. */
  readonly lifetimes: readonly (number | undefined)[];
}

export interface SimulatedPublishesOptions {
  readonly time: FakeTime;
  readonly random: Random;
  readonly devices: MemoryDevices;
}

/** The publishes of the backends of a simulated world, and who must get each. */
export class SimulatedPublishes {
  readonly store: MemoryPublishes;
  readonly all = new Map<PublishId, SimulatedPublish>();
  private readonly options: SimulatedPublishesOptions;

  constructor(options: SimulatedPublishesOptions) {
    this.options = options;
    this.store = new MemoryPublishes(options.devices);
  }

  /** Publishes anything. */
  async publish(instance: number): Promise<void> {
    const { random, time } = this.options;
    const target: PublishTarget = random.chance(0.7)
      ? { kind: 'interests', names: this.names(interests) }
      : { kind: 'users', names: this.names(users) };
    const some = random.some(platforms, 0.7);
    const sendAtMs = random.chance(0.15) ? time.now() + random.between(1, 9_000) : undefined;
    const given = some.length === 0 ? (['fcm'] as const) : some;
    const lifetimes = [undefined, undefined, undefined, 0, 3, 20, 100];
    await this.accept(instance, { target, given, sendAtMs, lifetimes });
  }

  /** Publishes to all devices of an instance that have interests. */
  async publishToAll(instance: number): Promise<void> {
    const target: PublishTarget = { kind: 'interests', names: interests };
    const some = { target, given: platforms, sendAtMs: undefined, lifetimes: [undefined] };
    await this.accept(instance, some);
  }

  async cancel(): Promise<void> {
    const { random, time } = this.options;
    const all = [...this.all.values()];
    if (all.length === 0) return;
    const one = random.pick(all);
    const { instance, id } = one.publish;
    const status = await this.store.cancel({ instance, id, nowMs: time.now() });
    if (status?.state === 'cancelled') one.cancelledAtMs ??= time.now();
  }

  /** A device that changes during a publish may or may not be reached by it. */
  isUncertain(device: number): void {
    for (const { certain } of this.all.values()) certain.delete(device);
  }

  count(id: PublishId, what: 'started' | 'finished'): void {
    const one = this.all.get(id);
    if (one !== undefined) one[what] += 1;
  }

  private async accept(
    instance: number,
    { target, given, sendAtMs, lifetimes }: NewSimulated,
  ): Promise<void> {
    const { random, time } = this.options;
    const createdAtMs = time.now();
    const dueAtMs = sendAtMs ?? createdAtMs;
    const ends = {
      apns: Number.POSITIVE_INFINITY,
      fcm: Number.POSITIVE_INFINITY,
      web: Number.POSITIVE_INFINITY,
    };
    const body: Record<string, unknown> = { [target.kind]: target.names };
    for (const platform of given) {
      const seconds = random.pick(lifetimes);
      body[platform] = payloadOf(platform, seconds, dueAtMs);
      if (seconds !== undefined) ends[platform] = endOf(platform, seconds, dueAtMs);
    }
    const publish: NewPublish = {
      id: `pubid-${this.all.size + 1}` as PublishId,
      instance,
      createdAtMs,
      sendAtMs,
      target,
      platforms: given,
      webhookUrl: undefined,
      body: JSON.stringify(body),
      idempotency: undefined,
      devicesMax: 0,
      pendingBytesMax: 0,
    };
    await this.store.accept(publish);
    this.all.set(publish.id, {
      publish,
      dueAtMs,
      endsAtMs: ends,
      cancelledAtMs: undefined,
      started: 0,
      finished: 0,
      certain: new Set(this.audienceOf(publish)),
    });
  }

  private names(from: readonly string[]): readonly string[] {
    const { random } = this.options;
    const some = random.some(from, 0.5);
    return some.length === 0 ? [random.pick(from)] : some;
  }

  private audienceOf({ instance, target, platforms: given }: NewPublish): readonly number[] {
    return this.options.devices
      .of(instance)
      .filter(({ registered }) => given.includes(registered.platform))
      .filter(({ interests: wanted, userId }) =>
        target.kind === 'interests'
          ? target.names.some((name) => wanted.has(name))
          : userId !== undefined && target.names.includes(userId),
      )
      .map(({ number }) => number);
  }
}

function payloadOf(platform: Platform, seconds: number | undefined, dueAtMs: number): object {
  if (platform !== 'apns') return seconds === undefined ? {} : { time_to_live: seconds };
  const aps = { alert: 'Hello' };
  if (seconds === undefined) return { aps };
  return { aps, expiration: seconds === 0 ? 0 : endOf(platform, seconds, dueAtMs) / 1000 };
}

/** After this time, nothing may be sent. */
function endOf(platform: Platform, seconds: number, dueAtMs: number): number {
  // With a time to live of 0, the first attempt may take a minute.
  if (seconds === 0) return dueAtMs + 60_000;
  if (platform !== 'apns') return dueAtMs + seconds * 1000;
  return (Math.ceil(dueAtMs / 1000) + seconds) * 1000;
}
