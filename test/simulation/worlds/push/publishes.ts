import { type Platform, platforms } from '../../../../src/push/model/device.ts';
import type { LiveRequest } from '../../../../src/push/model/live.ts';
import type {
  Acceptance,
  NewPublish,
  PublishId,
  PublishTarget,
} from '../../../../src/push/model/publish.ts';
import type { Random } from '../../../../testing/random.ts';
import type { RecordedHistory } from '../recorded-history.ts';
import type { WorldTime } from '../world-time.ts';

/** What devices and publishes may be interested in, and whom they may be for. */
export const interests = ['news', 'sport', 'hello'] as const;
export const users = ['ann', 'bob', 'cid'] as const;

/** A device, as the world knows it. */
export interface AddressedDevice {
  readonly id: string;
  readonly platform: Platform;
  readonly interests: ReadonlySet<string>;
  readonly userId: string | undefined;
  /** Whether its registration was not answered yet. */
  readonly isUncertain?: boolean;
}

/** What a backend wants to be published. It may take several requests. */
export interface Wanted {
  /** Its name in the history. */
  readonly p: string;
  readonly instance: number;
  readonly target: PublishTarget;
  readonly given: readonly Platform[];
  /** The devices that it addresses now, or came to address before it was over. Part of the history. */
  readonly devices: Record<string, string | null>;
  /** Those of them that stay in its audience to the end. */
  readonly certain: Set<string>;
}

/** What the simulation knows about a request to publish beside the store. */
export interface SimulatedPublish {
  readonly wanted: Wanted;
  readonly publish: NewPublish;
  readonly dueAtMs: number;
  /** When it expires on each platform. */
  readonly endsAtMs: Readonly<Record<Platform, number>>;
  cancelledAtMs: number | undefined;
  started: number;
  finished: number;
}

/** A publish to make. */
interface NewWanted {
  readonly instance: number;
  readonly target: PublishTarget;
  readonly given: readonly Platform[];
  readonly sendAtMs?: number | undefined;
  /** Times to live to choose from for each platform, in seconds. */
  readonly lifetimes: readonly (number | undefined)[];
  readonly live?: LiveRequest | undefined;
  readonly webhookUrl?: string | undefined;
}

/** A server that is asked to publish. Rejects if the store fails, and never settles if the server dies. */
export type Accept = (publish: NewPublish) => Promise<Acceptance>;

export interface SimulatedPublishesOptions {
  readonly time: WorldTime;
  readonly random: Random;
  readonly history: RecordedHistory;
  readonly devices: (instance: number) => readonly AddressedDevice[];
  /** The name of the event of the next publish with a live part. */
  readonly nextEvent: () => string;
  /** Chooses a server; `undefined`: there is none. */
  readonly server: () => Accept | undefined;
  /** Where some of the publishes want their progress to be reported. */
  readonly webhookUrl?: string;
}

/** The pause before a request that failed is repeated, and how often. */
const REPEAT_MS = 1_500;
const REQUESTS_MAX = 4;

/** How long a backend waits for an answer. */
const ANSWER_MS = 10_000;

const NEVER_ENDS = {
  apns: Number.POSITIVE_INFINITY,
  fcm: Number.POSITIVE_INFINITY,
  web: Number.POSITIVE_INFINITY,
};

/** The publishes of the backends of a simulated world, and who must get each. */
export class SimulatedPublishes {
  readonly all = new Map<PublishId, SimulatedPublish>();
  readonly wanted: Wanted[] = [];
  /** Requests that have no final answer yet. */
  open = 0;
  private readonly options: SimulatedPublishesOptions;

  constructor(options: SimulatedPublishesOptions) {
    this.options = options;
  }

  /** Publishes anything. */
  publish(instance: number): void {
    const { random, time, nextEvent, webhookUrl } = this.options;
    const target: PublishTarget = random.chance(0.6)
      ? { kind: 'interests', names: this.names(interests) }
      : { kind: 'users', names: this.names(users) };
    const some = random.some(platforms, 0.7);
    const live: LiveRequest | undefined =
      target.kind === 'users' && random.chance(0.6)
        ? {
            event: 'note',
            data: nextEvent(),
            channel: undefined,
            waitSeconds: random.between(1, 4),
            push: 'absent',
          }
        : undefined;
    this.make({
      instance,
      target,
      given: some.length === 0 ? ['fcm'] : some,
      sendAtMs: random.chance(0.15) ? time.now() + random.between(1, 9_000) : undefined,
      lifetimes: [undefined, undefined, undefined, 0, 3, 20, 100],
      live,
      webhookUrl: webhookUrl !== undefined && random.chance(0.5) ? webhookUrl : undefined,
    });
  }

  /** Publishes to all devices of an instance that have interests. */
  publishToAll(instance: number): Wanted {
    const target: PublishTarget = { kind: 'interests', names: interests };
    return this.make({ instance, target, given: platforms, lifetimes: [undefined] });
  }

  /** The devices of an instance have changed. A device that changes during a publish may or may not be reached by it. */
  changed(instance: number, device?: string): void {
    const devices = this.options.devices(instance);
    for (const wanted of this.wanted) {
      if (wanted.instance !== instance) continue;
      if (device !== undefined) wanted.certain.delete(device);
      for (const { id, userId } of devices.filter((one) => isFor(wanted, one))) {
        wanted.devices[id] ??= userId ?? null;
      }
    }
  }

  count(id: PublishId, what: 'started' | 'finished'): void {
    const one = this.all.get(id);
    if (one !== undefined) one[what] += 1;
  }

  nameOf(id: PublishId): string {
    return this.all.get(id)?.wanted.p ?? id;
  }

  private make(given: NewWanted): Wanted {
    const { history, devices } = this.options;
    const { instance, target, live } = given;
    const wanted: Wanted = {
      p: `publish-${this.wanted.length + 1}`,
      instance,
      target,
      given: given.given,
      devices: {},
      certain: new Set(),
    };
    for (const device of devices(instance).filter((one) => isFor(wanted, one))) {
      wanted.devices[device.id] = device.userId ?? null;
      if (device.isUncertain !== true) wanted.certain.add(device.id);
    }
    this.wanted.push(wanted);
    history.say('publish', {
      p: wanted.p,
      devices: wanted.devices,
      ...(target.kind === 'users' && { users: target.names }),
      ...(live && { live: live.data }),
    });
    this.open += 1;
    void this.request(wanted, given).finally(() => {
      this.open -= 1;
    });
    return wanted;
  }

  /** Asks a server to publish, again with the same key if it does not answer or fails. */
  private async request(wanted: Wanted, given: NewWanted): Promise<void> {
    const { random, time, history, server } = this.options;
    const pause = (ms: number) =>
      new Promise<undefined>((done) => time.after(ms, () => done(undefined)));
    const { p } = wanted;
    const lifetimes = given.given.map(
      (platform) => [platform, random.pick(given.lifetimes)] as const,
    );
    for (let requests = 0; requests < REQUESTS_MAX; requests++) {
      const accept = server();
      const answered =
        accept &&
        (await Promise.race([
          accept(this.newPublish(wanted, given, lifetimes)).then(
            ({ result }) => (result === 'accepted' ? 200 : 429),
            () => 503,
          ),
          pause(ANSWER_MS),
        ]));
      history.say('published', { p, status: answered ?? 0 });
      if (answered === 200) return;
      await pause(REPEAT_MS);
    }
  }

  private newPublish(
    wanted: Wanted,
    { sendAtMs, live, target, given, instance, webhookUrl }: NewWanted,
    lifetimes: readonly (readonly [Platform, number | undefined])[],
  ): NewPublish {
    const createdAtMs = this.options.time.now();
    const dueAtMs = sendAtMs ?? createdAtMs;
    const endsAtMs = { ...NEVER_ENDS };
    const body: Record<string, unknown> = { [target.kind]: target.names, webhookUrl };
    for (const [platform, seconds] of lifetimes) {
      body[platform] = payloadOf(platform, seconds, dueAtMs);
      if (seconds !== undefined) endsAtMs[platform] = endOf(platform, seconds, dueAtMs);
    }
    const publish: NewPublish = {
      id: `pubid-${this.all.size + 1}` as PublishId,
      instance,
      createdAtMs,
      sendAtMs,
      target,
      platforms: given,
      webhookUrl,
      body: JSON.stringify(body),
      idempotency: {
        key: wanted.p,
        fingerprint: wanted.p,
        expiresAtMs: Number.MAX_SAFE_INTEGER,
      },
      devicesMax: 0,
      pendingBytesMax: 0,
      live,
    };
    this.all.set(publish.id, {
      wanted,
      publish,
      dueAtMs,
      endsAtMs,
      cancelledAtMs: undefined,
      started: 0,
      finished: 0,
    });
    return publish;
  }

  private names(from: readonly string[]): readonly string[] {
    const { random } = this.options;
    const some = random.some(from, 0.5);
    return some.length === 0 ? [random.pick(from)] : some;
  }
}

function isFor(
  { target, given }: Wanted,
  { platform, interests, userId }: AddressedDevice,
): boolean {
  if (!given.includes(platform)) return false;
  return target.kind === 'interests'
    ? target.names.some((name) => interests.has(name))
    : userId !== undefined && target.names.includes(userId);
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
