import { describe, expect, it } from 'bun:test';
import type { Platform } from '../../../src/push/model/device.ts';
import { eventually } from '../../../testing/eventually.ts';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { Random } from '../../../testing/random.ts';
import { heldWork } from './delivery-rows.ts';
import {
  allAccepted,
  type Crowd,
  countsOf,
  DeliverySite,
  newsFor,
  type SiteDevice,
  type SiteInstance,
} from './delivery-site.ts';

const ROUNDS = runs(1, 50);

/** How often the server is killed during one publish. */
const KILLS = runs(1, 2);

/** Turns of the loop that may pass after an arrival, so that the server is met doing anything. */
const TURNS_MAX = 40;

/** More than a round takes on a slow machine. */
const ROUND_MS = 120_000;

/** One answer of a gateway. */
interface Arrival {
  readonly address: string;
  readonly atMs: number;
}

/** What a gateway answers from now on. */
function listenTo(site: DeliverySite, platform: Platform): Arrival[] {
  const list: Arrival[] = [];
  const add = (address: string) => list.push({ address, atMs: Date.now() });
  if (platform === 'web') site.web.arrivals.listen(({ endpoint }) => add(endpoint));
  else site[platform].arrivals.listen(({ token }) => add(token));
  return list;
}

interface Kill {
  readonly atMs: number;
  /** The devices in flight, as far as the store knows. */
  readonly inFlight: ReadonlySet<string>;
}

/** The devices whose results are not stored, although a server sends to them. */
function inFlightOf(site: DeliverySite, devices: readonly SiteDevice[]): ReadonlySet<string> {
  const held = new Set(heldWork(site.server).devices);
  return new Set(devices.filter(({ number }) => held.has(number)).map(({ address }) => address));
}

/** Kills the server, and starts it again. */
async function kill(site: DeliverySite, devices: readonly SiteDevice[]): Promise<Kill> {
  const atMs = Date.now();
  await site.server.stop('SIGKILL');
  const inFlight = inFlightOf(site, devices);
  await site.startAgain();
  return { atMs, inFlight };
}

/** Checks what arrived of a publish whose server was killed, and counts what came twice. */
function checkArrivals(
  devices: readonly SiteDevice[],
  list: readonly Arrival[],
  kills: readonly Kill[],
) {
  const byAddress = Map.groupBy(list, ({ address }) => address);
  const lost = devices.filter(({ address }) => !byAddress.has(address));
  let doubles = 0;
  let oldestMs = 0;
  const unexplained: string[] = [];
  for (const [address, [first, ...again]] of byAddress) {
    doubles += again.length;
    const reasons = kills.filter(({ inFlight }) => inFlight.has(address));
    if (again.length > reasons.length) unexplained.push(address);
    else if (again.length > 0) {
      oldestMs = Math.max(oldestMs, (reasons[0]?.atMs ?? 0) - (first?.atMs ?? 0));
    }
  }
  return { lost: lost.length, unexplained, doubles, oldestMs };
}

async function expectDelivered(
  site: DeliverySite,
  instance: SiteInstance,
  platform: Platform,
  publishId: string,
): Promise<void> {
  const none = { apns: countsOf({}), fcm: countsOf({}), web: countsOf({}) };
  expect(await site.finished(instance, publishId)).toMatchObject({
    state: 'finished',
    platforms: { ...none, [platform]: allAccepted(instance.devices[platform]) },
    reasons: [],
  });
}

describe('a server that is killed with kill -9', () => {
  it(
    'loses no device of a publish, and repeats only what was in flight',
    async () => {
      const seed = testSeed();
      const random = new Random(seed);
      const count = runs(6_000, 20_000);
      await using site = await DeliverySite.start({ crowds: [{ apns: count }] });
      const { arrivals: log } = site.apns;
      const instance = site.instance(0);
      const devices = instance.devices.apns;
      const arrivals = listenTo(site, 'apns');
      const figures = { rounds: 0, kills: 0, doubles: 0, oldestMs: 0 };

      for (let round = 0; round < ROUNDS; round++) {
        log.clear();
        arrivals.length = 0;
        const publishId = await site.publish(instance, newsFor('apns'));
        const kills: Kill[] = [];
        for (let each = 0; each < KILLS; each++) {
          const left = Math.max(0, count - log.count);
          await log.reaches(log.count + Math.floor(random.next() * (left + 1)));
          for (let turn = random.next() * TURNS_MAX; turn > 0; turn--) {
            await new Promise((resolve) => setImmediate(resolve));
          }
          kills.push(await kill(site, devices));
        }
        await expectDelivered(site, instance, 'apns', publishId);
        const found = checkArrivals(devices, arrivals, kills);
        expect({ seed, round, ...found }).toMatchObject({ lost: 0, unexplained: [] });
        // A device that got it twice shows it once.
        const ids = new Set(log.list().map(({ fields }) => fields['apns-collapse-id']));
        expect([...ids]).toEqual([publishId]);
        expect(new Set(log.list().map(({ status }) => status))).toEqual(new Set([200]));
        figures.rounds += 1;
        figures.kills += KILLS;
        figures.doubles += found.doubles;
        figures.oldestMs = Math.max(figures.oldestMs, found.oldestMs);
      }
      console.log(`kill -9 while delivering: ${JSON.stringify({ seed, ...figures })}`);
    },
    ROUNDS * ROUND_MS,
  );

  it.each<[Platform, Crowd]>([
    ['apns', { apns: 2_000 }],
    ['fcm', { fcm: 2_000 }],
    ['web', { web: 600 }],
  ])(
    'repeats nothing that %s, which is slow, has answered a moment before',
    async (platform, crowd) => {
      const seed = testSeed();
      const random = new Random(seed);
      await using site = await DeliverySite.start({ crowds: [crowd] });
      const { arrivals: log, script } = site[platform];
      const instance = site.instance(0);
      const devices = instance.devices[platform];
      const arrivals = listenTo(site, platform);
      script.latencyMs = 400;

      const publishId = await site.publish(instance, newsFor(platform));
      const kills: Kill[] = [];
      for (let each = 0; each < KILLS; each++) {
        // Somewhere in its own part of the publish, so that there is something left for the others.
        const part = (each + random.next()) / (KILLS + 1);
        await log.reaches(Math.max(log.count, Math.ceil(part * devices.length)));
        // The exact time until results are stored is tested with a fake clock.
        const answered = arrivals.map(({ address }) => address);
        const inFlight = await eventually(
          () => inFlightOf(site, devices),
          (found) => !answered.some((address) => found.has(address)),
        );
        expect(inFlight.size).toBeGreaterThan(0);
        const killed = await kill(site, devices);
        expect(answered.filter((address) => killed.inFlight.has(address))).toEqual([]);
        kills.push(killed);
      }
      await expectDelivered(site, instance, platform, publishId);
      const { doubles, oldestMs, ...found } = checkArrivals(devices, arrivals, kills);
      expect({ seed, ...found }).toEqual({ seed, lost: 0, unexplained: [] });
      console.log(`kill -9 beside ${platform}: ${JSON.stringify({ seed, doubles, oldestMs })}`);
    },
    ROUND_MS,
  );
});
