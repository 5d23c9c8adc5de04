import type { AudienceSource } from '../../../../src/push/audience-source.ts';
import type { BacklogStore } from '../../../../src/push/backlog-store.ts';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import type { DeviceStore } from '../../../../src/push/device-store.ts';
import type {
  AfterJob,
  AfterPart,
  DeviceResult,
  DeviceStory,
  Job,
  PublishUnderWay,
} from '../../../../src/push/model/delivery.ts';
import type { NewDevice, Platform, Recipient } from '../../../../src/push/model/device.ts';
import type {
  NewPublish,
  PlatformCounts,
  PublishId,
  PublishStatus,
  PublishTarget,
} from '../../../../src/push/model/publish.ts';
import { newPublishId } from '../../../../src/push/model/publish-id.ts';
import type { AddedPage } from '../../../../src/push/planning-store.ts';
import type { PublishStore } from '../../../../src/push/publish-store.ts';
import type { StoryStore } from '../../../../src/push/story-store.ts';
import { newDevice } from '../device-store.contract.ts';

export const NOW_MS = Date.UTC(2026, 0, 15, 12);

/** How long claims of a scene last. */
export const LEASE_MS = 60_000;

/** The stores of one server, and of another one on the same data. */
export interface DeliveryStores {
  readonly store: DeliveryStore;
  readonly other: DeliveryStore;
  readonly backlog: BacklogStore;
  readonly otherBacklog: BacklogStore;
  readonly stories: StoryStore;
  readonly publishes: PublishStore;
  readonly devices: DeviceStore;
  readonly audience: AudienceSource;
}

/** A publish that was accepted. */
export interface Accepted {
  readonly id: PublishId;
  readonly instance: number;
  readonly number: number;
}

/** A publish that was planned. */
export interface Planned extends Accepted {
  readonly recipients: readonly Recipient[];
  readonly pages: readonly number[];
}

export interface PlannedOptions {
  readonly devices?: number;
  readonly perPage?: number;
  readonly platform?: Platform;
  readonly target?: PublishTarget;
  readonly dueAtMs?: number;
}

/** One instance to plan and deliver in. */
export class DeliveryScene {
  readonly stores: DeliveryStores;
  readonly instance: number;
  nowMs = NOW_MS;

  constructor(stores: DeliveryStores, instance: number) {
    this.stores = stores;
    this.instance = instance;
  }

  /** Registers a device with the interest `hello`, or one of `user`. */
  async device(more: Partial<NewDevice> = {}, user?: string): Promise<NewDevice> {
    const { instance, nowMs } = this;
    const { devices } = this.stores;
    const device = newDevice(more);
    const key = { instance, id: device.id };
    await devices.register({ instance, device, nowMs });
    if (user === undefined) {
      await devices.setInterests({ ...key, interests: ['hello'] });
    } else {
      await devices.setUser({ ...key, userId: user, max: 100, replaceOldest: false, nowMs });
    }
    return device;
  }

  async accept(changes: Partial<NewPublish> = {}): Promise<NewPublish> {
    const target = changes.target ?? { kind: 'interests', names: ['hello'] };
    const publish: NewPublish = {
      id: newPublishId(this.nowMs),
      instance: this.instance,
      createdAtMs: this.nowMs,
      sendAtMs: undefined,
      target,
      platforms: ['fcm', 'web'],
      webhookUrl: undefined,
      body: JSON.stringify({ [target.kind]: target.names, fcm: {}, web: {} }),
      idempotency: undefined,
      devicesMax: 0,
      pendingBytesMax: 0,
      ...changes,
    };
    await this.stores.publishes.accept(publish);
    return publish;
  }

  /** Accepts a publish and claims its plan. */
  async claimed(changes: Partial<NewPublish> = {}): Promise<PublishUnderWay> {
    const { id } = await this.accept(changes);
    const claims = await this.stores.store.claimPlans({
      nowMs: this.nowMs,
      untilMs: this.nowMs + LEASE_MS,
      limit: 1000,
      except: [],
    });
    const found = claims.find(({ publish }) => publish.id === id);
    if (found === undefined) throw new Error('the publish is not to be planned');
    return found.publish;
  }

  /** The audience of a publish, in device order. */
  async recipients(target: PublishTarget): Promise<readonly Recipient[]> {
    const { audience } = this.stores;
    const range = { instance: this.instance, kind: target.kind, after: 0, limit: 100_000 };
    const numbers = await Promise.all(
      target.names.map((name) => audience.numbers({ ...range, name })),
    );
    const once = [...new Set(numbers.flat())].sort((a, b) => a - b);
    return await audience.recipients(this.instance, once);
  }

  /** Adds a page of these devices. Any server may claim it, or none until `claimedUntilMs`. */
  async addPage(
    publish: number,
    after: number,
    recipients: readonly Recipient[],
    { claimedUntilMs, heldUntilMs }: Partial<AddedPage> = {},
  ): Promise<number | undefined> {
    const planned = (platform: Platform) =>
      recipients.filter((recipient) => recipient.platform === platform).length;
    const devices = recipients.map(({ number }) => number);
    const page = {
      after,
      upTo: devices.at(-1) ?? after,
      devices,
      planned: { apns: planned('apns'), fcm: planned('fcm'), web: planned('web') },
    };
    const added = { publish, page, claimedUntilMs, heldUntilMs };
    return (await this.stores.store.addPage(added))?.page;
  }

  /** Registers devices, and plans a publish to all of them. */
  async planned(options: PlannedOptions = {}): Promise<Planned> {
    const { devices = 3, perPage = 1000, platform = 'fcm' } = options;
    const target = options.target ?? { kind: 'interests', names: ['hello'] };
    await Promise.all(Array.from({ length: devices }, () => this.device({ platform })));
    const dueAtMs = options.dueAtMs ?? this.nowMs;
    const publish = await this.claimed({ target, createdAtMs: dueAtMs });
    const recipients = await this.recipients(target);
    const pages: number[] = [];
    let after = 0;
    for (let from = 0; from < recipients.length; from += perPage) {
      const some = recipients.slice(from, from + perPage);
      const page = await this.addPage(publish.number, after, some);
      if (page === undefined) throw new Error('the page was not added');
      pages.push(page);
      after = some.at(-1)?.number ?? after;
    }
    await this.stores.store.endPlanning({
      publish: publish.number,
      after,
      nowMs: this.nowMs,
    });
    return { id: publish.id, instance: this.instance, number: publish.number, recipients, pages };
  }

  claim(limit = 100, store = this.stores.store): Promise<readonly Job[]> {
    return store.claimJobs({
      nowMs: this.nowMs,
      untilMs: this.nowMs + LEASE_MS,
      limit,
      devicesPerJob: 1000,
      except: [],
    });
  }

  /** The next job. Throws if there is none. */
  async job(store = this.stores.store): Promise<Job> {
    const [job] = await this.claim(1, store);
    if (job === undefined) throw new Error('there is nothing to do');
    return job;
  }

  /** Claims a job and settles it with the same result for each device. */
  async deliver(what: DeviceResult['what'] = 'accepted', afterMs = 1000): Promise<AfterJob> {
    return await this.finish(await this.job(), what, afterMs);
  }

  async finish(
    job: Job,
    what: DeviceResult['what'] = 'accepted',
    afterMs = 1000,
    store = this.stores.store,
  ): Promise<AfterJob> {
    const { publish, devices } = job;
    const recipients = await this.stores.audience.recipients(publish.instance, devices);
    const attempts = new Map(
      job.what === 'retries' ? job.retries.map((retry) => [retry.device, retry.attempts]) : [],
    );
    const results = recipients.map((recipient) =>
      resultOf(what, recipient, (attempts.get(recipient.number) ?? 0) + 1, this.nowMs + afterMs),
    );
    return await store.settle({ job, results, nowMs: this.nowMs });
  }

  /** Settles the first devices of a job, while the others are in flight. */
  async settlePart(
    job: Job,
    devices: number,
    what: DeviceResult['what'] = 'accepted',
    store = this.stores.store,
  ): Promise<AfterPart> {
    const some = onlyFirst(job, devices);
    const recipients = await this.stores.audience.recipients(this.instance, some.devices);
    const results = recipients.map((one) => resultOf(what, one, 1, this.nowMs + 1000));
    return await store.settlePart({ job: some, results, nowMs: this.nowMs });
  }

  async status(id: PublishId): Promise<PublishStatus> {
    const { instance, nowMs } = this;
    const status = await this.stores.publishes.status({ instance, id, nowMs });
    if (status === undefined) throw new Error('there is no such publish');
    return status;
  }

  /** The sums over all platforms that are not 0. */
  async counts(id: PublishId): Promise<Partial<PlatformCounts>> {
    const { apns, fcm, web } = (await this.status(id)).platforms;
    const names = Object.keys(fcm) as (keyof PlatformCounts)[];
    return Object.fromEntries(
      names
        .map((name) => [name, apns[name] + fcm[name] + web[name]] as const)
        .filter(([, devices]) => devices !== 0),
    );
  }

  async story(publish: PublishId, device: NewDevice['id']): Promise<DeviceStory> {
    const { instance } = this;
    const story = await this.stores.stories.story({ instance, publish, device });
    if (story === undefined) throw new Error('there is no such device or publish');
    return story;
  }
}

/** A job with its first devices only. */
function onlyFirst(job: Job, count: number): Job {
  const devices = job.devices.slice(0, count);
  return job.what === 'page'
    ? { ...job, devices }
    : { ...job, devices, retries: job.retries.slice(0, count) };
}

export function resultOf(
  what: DeviceResult['what'],
  { number: device, platform, token, userId, seenAtMs, isTrusted }: Recipient,
  attempts: number,
  dueAtMs: number,
): DeviceResult {
  const tried = { device, platform, attempts, reason: `because-${what}`, words: `so ${what}` };
  switch (what) {
    case 'accepted':
      return { what, device, platform, userId, ...(isTrusted ? {} : { firstToken: token }) };
    case 'retry':
      return { what, ...tried, dueAtMs };
    case 'failed':
    case 'expired':
      return { what, ...tried, userId };
    case 'pruned':
      return { what, ...tried, token, seenAtMs };
    default:
      return what satisfies never;
  }
}
