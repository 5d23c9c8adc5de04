import { describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import type { AfterJob, Job } from '../../../../src/push/model/delivery.ts';
import type { Database } from '../../../../src/stores/database/database.ts';
import { StoredPublishes } from '../../../../src/stores/push/publishes/publish-store.ts';
import { databases } from '../../../../testing/databases/databases.ts';
import { openPushStores } from '../stores.ts';
import {
  DeliveryScene,
  type DeliveryStores,
  LEASE_MS,
  NOW_MS,
  resultOf,
} from './delivery-scene.ts';

const PAGE_DEVICES = 20;

/** How often, in calls, a server dies, is slow, repeats a result, and so on: each happens in every run. */
const FORGETS = 17;
const SLOW = 11;
const TWICE = 7;
const EXTENDS = 5;
const IN_PARTS = 2;

const ends = ['accepted', 'accepted', 'retry', 'accepted', 'failed', 'retry', 'expired'] as const;

/** Servers that plan and deliver everything, as fast as they can. */
class Race {
  nowMs = NOW_MS;
  readonly finished = new Map<number, number>();
  private readonly stores: DeliveryStores;
  private turn = 0;

  constructor(stores: DeliveryStores) {
    this.stores = stores;
  }

  /** Works until no work is left. */
  async serve(store: DeliveryStore): Promise<void> {
    for (;;) {
      const planned = await this.planSome(store);
      const delivered = await this.deliverSome(store);
      if (planned + delivered > 0) continue;
      const due = await store.nextDue();
      if (due === undefined) return;
      this.nowMs = Math.max(this.nowMs + 1, Math.min(due, this.nowMs + LEASE_MS));
    }
  }

  private async planSome(store: DeliveryStore): Promise<number> {
    const untilMs = this.nowMs + (this.every(SLOW) ? 1 : LEASE_MS);
    const claims = await store.claimPlans({
      nowMs: this.nowMs,
      untilMs,
      limit: 2,
      except: [],
    });
    for (const { publish, after } of claims) {
      if (this.every(FORGETS)) continue;
      await this.plan(store, publish.number, publish.instance, after);
    }
    return claims.length;
  }

  private async plan(
    store: DeliveryStore,
    publish: number,
    instance: number,
    from: number,
  ): Promise<void> {
    const { audience } = this.stores;
    for (let after = from; ; ) {
      const devices = await audience.numbers({
        instance,
        kind: 'interests',
        name: 'hello',
        after,
        limit: PAGE_DEVICES,
      });
      const upTo = devices.at(-1);
      if (upTo === undefined) {
        const nowMs = this.nowMs;
        this.note(publish, await store.endPlanning({ publish, after, nowMs }));
        return;
      }
      const planned = { apns: 0, fcm: devices.length, web: 0 };
      const page = { after, upTo, devices, planned };
      const claimedUntilMs = undefined;
      if ((await store.addPage({ publish, page, claimedUntilMs })) === undefined) return;
      after = upTo;
    }
  }

  private async deliverSome(store: DeliveryStore): Promise<number> {
    this.nowMs += 1;
    const untilMs = this.nowMs + (this.every(SLOW) ? 1 : LEASE_MS);
    const jobs = await store.claimJobs({
      nowMs: this.nowMs,
      untilMs,
      limit: 3,
      devicesPerJob: 30,
      except: [],
    });
    await Promise.all(jobs.map((job) => this.deliver(store, job, jobs)));
    return jobs.length;
  }

  private async deliver(store: DeliveryStore, job: Job, jobs: readonly Job[]): Promise<void> {
    if (this.every(EXTENDS)) await store.extend({ plans: [], jobs }, this.nowMs + LEASE_MS);
    if (this.every(FORGETS)) return;
    const { publish, devices } = job;
    const recipients = await this.stores.audience.recipients(publish.instance, devices);
    const results = recipients.map((recipient) => {
      this.turn += 1;
      const what = ends[this.turn % ends.length] ?? 'accepted';
      return resultOf(this.turn % 97 === 0 ? 'pruned' : what, recipient, 1, this.nowMs + 50);
    });
    if (job.what === 'page' && this.every(IN_PARTS)) {
      const some = results.slice(0, devices.length >> 1);
      const part = { job, results: some, nowMs: this.nowMs };
      if (some.length > 0) this.note(publish.number, await store.settlePart(part));
      if (this.every(FORGETS)) return;
    }
    for (let times = this.every(TWICE) ? 2 : 1; times > 0; times -= 1) {
      this.note(publish.number, await store.settle({ job, results, nowMs: this.nowMs }));
    }
  }

  private note(publish: number, after: AfterJob): void {
    if (after !== 'finished') return;
    this.finished.set(publish, (this.finished.get(publish) ?? 0) + 1);
  }

  private every(times: number): boolean {
    this.turn += 1;
    return this.turn % times === 0;
  }
}

describe.each(databases)('StoredDeliveries in $name', ({ make }) => {
  it('count every device once, with several concurrent servers', async () => {
    await using stores = await openPushStores(make);
    const { database, second } = stores;
    // Earlier tests used the same database.
    const deadlocksBefore = await deadlocks(database);
    const scenes = [
      new DeliveryScene(stores, await stores.newInstance()),
      new DeliveryScene(stores, await stores.newInstance()),
    ];
    for (const scene of scenes) {
      await Promise.all(Array.from({ length: 150 }, () => scene.device()));
    }
    const accepted = await Promise.all(
      scenes.flatMap((scene) => Array.from({ length: 8 }, () => scene.accept())),
    );
    const race = new Race(stores);
    const cancelling = new StoredPublishes(second);
    const cancelSome = async () => {
      for (const { instance, id } of accepted.filter((_, index) => index % 4 === 0)) {
        // Reading takes time, and the servers continue meanwhile.
        await stores.publishes.status({ instance, id, nowMs: race.nowMs });
        await cancelling.cancel({ instance, id, nowMs: race.nowMs });
      }
    };
    const comeAndGo = async () => {
      for (let count = 0; count < 20; count += 1) {
        for (const scene of scenes) {
          const { id } = await scene.device();
          if (count % 2 === 0) await stores.devices.delete({ instance: scene.instance, id });
        }
      }
    };

    await Promise.all([
      race.serve(stores.store),
      race.serve(stores.store),
      race.serve(stores.other),
      race.serve(stores.other),
      cancelSome(),
      comeAndGo(),
    ]);

    let finished = 0;
    for (const { instance, id } of accepted) {
      const status = await stores.publishes.status({ instance, id, nowMs: race.nowMs });
      if (status === undefined) throw new Error('a publish is gone');
      expect(status.state).toMatch(/^(?:finished|cancelled)$/);
      if (status.state === 'finished') finished += 1;
      const { fcm } = status.platforms;
      expect(fcm.retrying).toBe(0);
      const { planned, failed, pruned, expired } = fcm;
      expect(fcm.accepted + failed + pruned + expired + fcm.cancelled).toBe(planned);
      const reasons = status.reasons.reduce((sum, { devices }) => sum + devices, 0);
      expect(reasons).toBe(failed + pruned + expired);
    }
    expect([...race.finished.values()]).toEqual(Array.from({ length: finished }, () => 1));
    expect(await deadlocks(database)).toBe(deadlocksBefore);
  });
});

/** The number of deadlocks, which take PostgreSQL a second to detect. */
async function deadlocks({ dialect, read }: Database): Promise<number> {
  if (dialect === 'sqlite') return 0;
  const [row]: { deadlocks: number | string }[] = await read`
    SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`;
  return Number(row?.deadlocks);
}
