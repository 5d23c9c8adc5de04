import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import type { WantedJobs } from '../../../../src/push/job-store.ts';
import type {
  ClaimedPlan,
  DeviceResult,
  Job,
  RetryJob,
} from '../../../../src/push/model/delivery.ts';
import type { NewDevice, Platform, Recipient } from '../../../../src/push/model/device.ts';
import type { NewPublish } from '../../../../src/push/model/publish.ts';
import type { DeliveryStores } from './delivery-scene.ts';

export interface World {
  readonly stores: DeliveryStores;
  readonly instances: readonly number[];
}

type Work = ClaimedPlan | Job;

/** The result of a device; `undefined`: none is recorded. */
type ResultOf = (recipient: Recipient, attempts: number, index: number) => DeviceResult | undefined;

/**
 * Servers on one store, described without the numbers that the store assigns, so that two stores with the same history
 * can be compared.
 */
export class DeliveryWorld {
  private readonly stores: DeliveryStores;
  private readonly instances: readonly number[];
  private readonly devices: NewDevice[] = [];
  private readonly publishes: NewPublish[] = [];
  private readonly numbers = new Map<string, number[]>();
  private readonly plannings: { claim: ClaimedPlan; after: number }[] = [];
  private readonly jobs: Job[] = [];

  constructor({ stores, instances }: World) {
    this.stores = stores;
    this.instances = instances;
  }

  async register(device: NewDevice, instance: number, user: string | undefined, nowMs: number) {
    const where = this.instance(instance);
    const { devices } = this.stores;
    await devices.register({ instance: where, device, nowMs });
    const key = { instance: where, id: device.id };
    await devices.setInterests({ ...key, interests: ['hello'] });
    const ofUser = { userId: user ?? '', max: 100, replaceOldest: false };
    if (user !== undefined) await devices.setUser({ ...key, ...ofUser, nowMs });
    this.devices.push(device);
  }

  async deleteDevice(at: number): Promise<void> {
    const device = pick(this.devices, at);
    if (device === undefined) return;
    for (const instance of this.instances)
      await this.stores.devices.delete({ instance, id: device.id });
  }

  async setToken(at: number, token: string, nowMs: number): Promise<void> {
    const device = pick(this.devices, at);
    if (device === undefined) return;
    for (const instance of this.instances) {
      await this.stores.devices.setToken({
        instance,
        id: device.id,
        token,
        identity: token,
        nowMs,
      });
    }
  }

  async accept(publish: NewPublish, instance: number): Promise<void> {
    const accepted = { ...publish, instance: this.instance(instance) };
    await this.stores.publishes.accept(accepted);
    this.publishes.push(accepted);
  }

  async cancel(at: number, nowMs: number): Promise<unknown> {
    const publish = pick(this.publishes, at);
    return publish && (await this.stores.publishes.cancel({ ...publish, nowMs }));
  }

  async report(publishAt: number, deviceAt: number, nowMs: number): Promise<unknown> {
    const [publish, device] = [pick(this.publishes, publishAt), pick(this.devices, deviceAt)];
    if (publish === undefined || device === undefined) return undefined;
    return await this.stores.publishes.report({
      instance: publish.instance,
      report: {
        event: 'open',
        publishId: publish.id,
        deviceId: device.id,
        userId: undefined,
        timestampSeconds: 1,
        appInBackground: undefined,
        hasDisplayableContent: undefined,
        hasData: undefined,
      },
      nowMs,
    });
  }

  async claimPlans(server: number, nowMs: number, untilMs: number, limit: number) {
    const claims = await this.server(server).claimPlans({ nowMs, untilMs, limit, except: [] });
    this.plannings.push(...claims.map((claim) => ({ claim, after: claim.after })));
    return claims.map((claim) => [
      this.described(claim),
      this.named('device', claim.after === 0 ? undefined : claim.after),
    ]);
  }

  /** Continues a claimed plan, although another server may have claimed it since. */
  async addPage(
    at: number,
    server: number,
    devices: number,
    claimedUntilMs: number | undefined,
  ): Promise<unknown> {
    const planning = pick(this.plannings, at);
    if (planning === undefined) return undefined;
    const { claim, after } = planning;
    const rest = await this.audience(claim, after);
    const recipients = rest.slice(0, devices);
    const last = recipients.at(-1)?.number;
    if (last === undefined) return 'empty';
    const planned = (platform: Platform) =>
      recipients.filter((recipient) => recipient.platform === platform).length;
    const page = await this.server(server).addPage({
      publish: claim.publish.number,
      page: {
        after,
        upTo: last,
        devices: recipients.map(({ number }) => number),
        planned: { apns: planned('apns'), fcm: planned('fcm'), web: planned('web') },
        // Otherwise planning is ended by a call of its own.
        isLast: rest.length < devices,
      },
      claimedUntilMs,
    });
    if (page !== undefined) planning.after = last;
    return this.named('page', page?.page);
  }

  async endPlanning(at: number, nowMs: number): Promise<unknown> {
    const planning = pick(this.plannings, at);
    if (planning === undefined) return undefined;
    const { claim, after } = planning;
    return await this.stores.store.endPlanning({ publish: claim.publish.number, after, nowMs });
  }

  async claimJobs(server: number, wanted: Omit<WantedJobs, 'except'>) {
    const jobs = await this.server(server).claimJobs({ ...wanted, except: [] });
    this.jobs.push(...jobs);
    return jobs.map((job) => ({
      ...this.described(job),
      what: job.what,
      page: job.what === 'page' ? this.named('page', job.page) : undefined,
      platform: job.what === 'retries' ? job.platform : undefined,
      devices: job.devices.map((device) => this.named('device', device)),
      attempts: job.what === 'retries' ? job.retries.map(({ attempts }) => attempts) : undefined,
    }));
  }

  /** Settles a claimed job, perhaps late and repeatedly. */
  async finish(at: number, server: number, result: ResultOf, nowMs: number): Promise<unknown> {
    const job = pick(this.jobs, at);
    if (job === undefined) return undefined;
    const results = await this.results(job, result);
    return await this.server(server).settle({ job, results, nowMs });
  }

  /** Settles some devices of a job, but not all. */
  async settlePart(
    at: number,
    server: number,
    most: number,
    result: ResultOf,
    nowMs: number,
  ): Promise<unknown> {
    const job = pick(this.jobs, at);
    if (job === undefined) return undefined;
    const all = await this.results(job, result);
    const results = all.slice(0, Math.min(most, job.devices.length - 1));
    if (results.length === 0) return 'nothing';
    const some = job.what === 'page' ? job : onlyOf(job, results);
    return await this.server(server).settlePart({ job: some, results, nowMs });
  }

  private async results(job: Job, result: ResultOf): Promise<readonly DeviceResult[]> {
    const { publish, devices } = job;
    const recipients = await this.stores.audience.recipients(publish.instance, devices);
    return recipients.flatMap((recipient, index) => {
      const retry =
        job.what === 'retries'
          ? job.retries.find(({ device }) => device === recipient.number)
          : undefined;
      return result(recipient, (retry?.attempts ?? 0) + 1, index) ?? [];
    });
  }

  async extend(server: number, untilMs: number): Promise<void> {
    const plans = this.plannings.map(({ claim }) => claim.publish.number);
    await this.server(server).extend({ plans, jobs: this.jobs }, untilMs);
  }

  /** Gives claimed jobs back that wait for open circuits only. */
  async hold(server: number, at: number, readyAtMs: number): Promise<void> {
    const job = pick(this.jobs, at);
    if (job !== undefined) await this.server(server).hold([job], readyAtMs);
  }

  /** Lets some of the publishes give way that wait only for failures. */
  async giveWay(server: number, place: number, most: number, nowMs: number): Promise<unknown> {
    const instance = this.instance(place);
    const { backlog, otherBacklog } = this.stores;
    const { publishes } = await backlog.waiting({ instance, after: 0 });
    const numbers = publishes.slice(0, most).map(({ number }) => number);
    const by = server % 2 === 0 ? backlog : otherBacklog;
    const left = await by.giveWay({ instance, publishes: numbers, nowMs });
    return [publishes.map(({ platform }) => platform), left.devices, [...left.publishes].sort()];
  }

  async release(server: number, whose: 'own' | 'all'): Promise<void> {
    await this.server(server).release(whose);
  }

  /** All that is visible from outside. */
  async seen(nowMs: number): Promise<unknown> {
    const { publishes, store } = this.stores;
    return {
      statuses: await Promise.all(
        this.publishes.map(({ instance, id }) => publishes.status({ instance, id, nowMs })),
      ),
      nextDue: await store.nextDue(),
    };
  }

  /** Whether every publish is over, and each of its devices counted once. */
  async isDone(): Promise<boolean> {
    const { publishes } = this.stores;
    for (const { instance, id } of this.publishes) {
      const status = await publishes.status({ instance, id, nowMs: Number.MAX_SAFE_INTEGER });
      if (status?.state !== 'finished' && status?.state !== 'cancelled') return false;
      for (const counts of Object.values(status.platforms)) {
        const { planned, accepted, failed, pruned, expired, cancelled } = counts;
        if (planned !== accepted + failed + pruned + expired + cancelled) return false;
      }
    }
    return true;
  }

  /** The story of each device and publish. */
  async stories(): Promise<unknown> {
    const { stories } = this.stores;
    const pairs = this.publishes.flatMap((publish) =>
      this.devices.map((device) => [publish, device] as const),
    );
    return await Promise.all(
      pairs.map(([{ instance, id }, device]) =>
        stories.story({ instance, publish: id, device: device.id }),
      ),
    );
  }

  async users(): Promise<unknown> {
    const all = this.plannings.map(({ claim }) =>
      this.stores.stories.usersReached(claim.publish.number),
    );
    return await Promise.all(all);
  }

  /** The audience of a publish after a device. */
  private async audience({ publish }: ClaimedPlan, after: number): Promise<readonly Recipient[]> {
    const { instance, kind } = publish;
    const { audience } = this.stores;
    const names = this.publishes.find(({ id }) => id === publish.id)?.target.names ?? [];
    const numbers = await Promise.all(
      names.map((name) => audience.numbers({ instance, kind, name, after, limit: 1000 })),
    );
    const once = [...new Set(numbers.flat())].sort((a, b) => a - b);
    return await audience.recipients(instance, once);
  }

  private server(server: number): DeliveryStore {
    return server % 2 === 0 ? this.stores.store : this.stores.other;
  }

  private instance(at: number): number {
    return this.instances[at % this.instances.length] ?? 0;
  }

  private described(work: Work) {
    const { publish } = work;
    return {
      id: publish.id,
      instance: this.instances.indexOf(publish.instance),
      kind: publish.kind,
      body: publish.body,
      times: [publish.createdAtMs, publish.dueAtMs],
      untilMs: 'what' in work ? work.claimedUntilMs : undefined,
    };
  }

  /** A name that is equal for equal things in two stores with the same history. */
  private named(kind: 'device' | 'page', number: number | undefined): string | undefined {
    if (number === undefined) return undefined;
    const known = this.numbers.get(kind) ?? [];
    this.numbers.set(kind, known);
    if (!known.includes(number)) known.push(number);
    return `${kind} ${known.indexOf(number)}`;
  }
}

function onlyOf(job: RetryJob, results: readonly DeviceResult[]): Job {
  const wanted = new Set(results.map(({ device }) => device));
  const isWanted = (device: number) => wanted.has(device);
  return {
    ...job,
    retries: job.retries.filter(({ device }) => isWanted(device)),
    devices: job.devices.filter(isWanted),
  };
}

function pick<T>(all: readonly T[], at: number): T | undefined {
  return all.length === 0 ? undefined : all[all.length - 1 - (at % all.length)];
}
