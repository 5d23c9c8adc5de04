import { describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import type { UserStatus } from '../../src/channels/ports.ts';
import type { OpenCluster } from './authority.contract.ts';
import type { LoopStage } from './loop-stage.ts';
import { appWith } from './values.ts';

const EVENTS = ['user_online', 'user_offline'] as const;
const webhooks = [{ url: 'http://localhost/', events: EVENTS, batching: true }];

const app: App = { ...appWith({}), webhooks };
const patient: App = { ...appWith({}, 'patient'), offlineSeconds: 20, webhooks };
const hasty: App = { ...appWith({}, 'hasty'), offlineSeconds: 0, webhooks };
const quiet = appWith({}, 'quiet');

/** Users with different homes, however many loops there are. */
const USERS = Array.from({ length: 6 }, (_, n) => `user-${n}`);

const OFFLINE = { isOnline: false, sinceMs: undefined, lastSeenMs: undefined };

/** What the core expects of any authority about who is online. */
export function onlineUsersContract(
  name: string,
  open: (apps: readonly App[]) => Promise<OpenCluster>,
): void {
  const stage = async () => {
    const cluster = await open([app, patient, hasty, quiet]);
    const at = (n: number): LoopStage => {
      const loop = cluster.loops[n % cluster.loops.length];
      if (loop === undefined) throw new Error('There is no loop');
      return loop;
    };
    const goOn = async (ms: number) => {
      await cluster.advance(ms);
      await cluster.settled();
    };
    const statuses = async (of: App, users = USERS) =>
      await at(1).authority.userStatuses(of, users);
    const told = () =>
      cluster
        .reported()
        .map(({ appId, event }) => ({ appId, ...event }))
        .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
    return Object.assign(cluster, { at, goOn, statuses, told });
  };
  const online = (sinceMs: number) => ({ isOnline: true, sinceMs, lastSeenMs: undefined });
  const all = (status: UserStatus) => USERS.map(() => status);

  describe(`${name} keeps the contract of who is online`, () => {
    it('answers for each user in the order asked, as often as asked', async () => {
      const { at, clock, statuses } = await stage();
      await at(0).signIn(app, 'user-4');
      const here = online(clock.now());
      expect(await statuses(app, ['bob', 'user-4', 'ann', 'user-4'])).toEqual([
        OFFLINE,
        here,
        OFFLINE,
        here,
      ]);
      expect(await statuses(patient, ['user-4'])).toEqual([OFFLINE]);
    });

    it('says since when a user is online: since the first of all connections', async () => {
      const { at, clock, goOn, statuses } = await stage();
      for (const user of USERS) await at(0).signIn(app, user);
      const sinceMs = clock.now();
      await goOn(10_000);
      for (const user of USERS) await at(2).signIn(app, user);
      for (const user of USERS) await at(0).signOut(app, user);
      await goOn(10_000);
      expect(await statuses(app)).toEqual(all(online(sinceMs)));
    });

    it('lets a user who is back in time be online since the same time, on any loop', async () => {
      const { at, clock, goOn, statuses } = await stage();
      for (const user of USERS) await at(1).signIn(app, user);
      const sinceMs = clock.now();
      for (const [from, to] of [
        [1, 1],
        [1, 2],
        [2, 0],
      ] as const) {
        for (const user of USERS) await at(from).signOut(app, user);
        await goOn(2000);
        expect(await statuses(app)).toEqual(all(online(sinceMs)));
        for (const user of USERS) await at(to).signIn(app, user);
        await goOn(5000);
      }
      expect(await statuses(app)).toEqual(all(online(sinceMs)));
    });

    it('says when the last connection ended of users who are offline, for seven days', async () => {
      const { at, clock, goOn, statuses } = await stage();
      for (const user of USERS) for (const n of [0, 1]) await at(n).signIn(app, user);
      for (const user of USERS) await at(0).signOut(app, user);
      await goOn(5000);
      for (const user of USERS) await at(1).signOut(app, user);
      const lastSeenMs = clock.now();
      await goOn(4000);
      expect(await statuses(app)).toEqual(all({ ...OFFLINE, lastSeenMs }));
      await goOn(7 * 24 * 3_600_000 - 10_000);
      expect(await statuses(app)).toEqual(all({ ...OFFLINE, lastSeenMs }));
      await goOn(7_000);
      expect(await statuses(app)).toEqual(all(OFFLINE));
    });

    it('lets users count as online for as long as their app says', async () => {
      const { at, clock, goOn, statuses } = await stage();
      for (const user of USERS) await at(0).signIn(patient, user);
      const sinceMs = clock.now();
      await at(2).watch(patient, USERS);
      for (const user of USERS) await at(0).signOut(patient, user);
      await goOn(19_000);
      expect(await statuses(patient)).toEqual(all(online(sinceMs)));
      expect(at(2).watched()).toEqual([]);
      await goOn(2000);
      const gone = { ...OFFLINE, lastSeenMs: sinceMs };
      expect(await statuses(patient)).toEqual(all(gone));
      expect(at(2).watched().toSorted()).toEqual(USERS.map((user) => `offline ${user}`));
    });

    it('tells webhooks once of each change, and nothing of who is back in time', async () => {
      const { at, clock, goOn, told } = await stage();
      const event = (user: string) => ({ appId: 'app', user_id: user });
      for (const n of [0, 1, 2]) for (const user of USERS) await at(n).signIn(app, user);
      for (const user of USERS) await at(0).signIn(quiet, user);
      await goOn(1000);
      expect(told()).toEqual(USERS.map((user) => ({ ...event(user), name: 'user_online' })));
      for (const n of [0, 1, 2]) for (const user of USERS) await at(n).signOut(app, user);
      for (const user of USERS) await at(0).signOut(quiet, user);
      await goOn(2000);
      for (const user of USERS) await at(2).signIn(app, user);
      await goOn(20_000);
      expect(told()).toEqual([]);
      for (const user of USERS) await at(2).signOut(app, user);
      const lastSeenMs = clock.now();
      await goOn(2000);
      expect(told()).toEqual([]);
      await goOn(1000);
      const gone = (user: string) => ({ ...event(user), name: 'user_offline' as const });
      expect(told()).toEqual(USERS.map((user) => ({ ...gone(user), last_seen_ms: lastSeenMs })));
      await goOn(20_000);
      expect(told()).toEqual([]);
      for (const user of USERS) await at(1).signIn(app, user);
      await goOn(1000);
      expect(told()).toEqual(USERS.map((user) => ({ ...event(user), name: 'user_online' })));
    });

    it('tells webhooks when the time of the app is over', async () => {
      const { at, clock, goOn, told } = await stage();
      for (const one of [patient, hasty]) await at(0).signIn(one, 'ann');
      await at(1).signIn(hasty, 'bob');
      await goOn(1000);
      expect(told()).toHaveLength(3);
      for (const one of [patient, hasty]) await at(0).signOut(one, 'ann');
      const lastSeenMs = clock.now();
      const gone = { name: 'user_offline' as const, user_id: 'ann', last_seen_ms: lastSeenMs };
      await goOn(1000);
      expect(told()).toEqual([{ appId: 'hasty', ...gone }]);
      await goOn(18_000);
      expect(told()).toEqual([]);
      await goOn(1000);
      expect(told()).toEqual([{ appId: 'patient', ...gone }]);
    });
  });
}
