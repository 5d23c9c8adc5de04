import { expect, it } from 'bun:test';
import { Random } from '../../bench/soak/random.ts';
import { killRounds } from '../support/kill-rounds.ts';
import { heldWork } from './push-delivery-rows.ts';
import { allAccepted, countsOf, DeliverySite, newsFor, timesOf } from './push-delivery-site.ts';

const ROUNDS = killRounds(3);
const DEVICES = 20_000;

/** A publish is killed so often on its way. */
const KILLS = 2;

/** The devices of a page: a kill repeats no more of each that was under way. */
const PAGE_DEVICES = 1_000;

/** Turns of the loop that may pass after an arrival, so that the server is met doing anything. */
const TURNS_MAX = 40;

/** More than a round takes on a slow machine. */
const ROUND_MS = 40_000;

/** Kills the server when so many notifications have arrived, and a little later. */
async function killAt(site: DeliverySite, arrivals: number, turns: number): Promise<void> {
  await site.apns.journal.reaches(arrivals);
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  await site.server.stop('SIGKILL');
}

it(
  'loses to kill -9 no device of a publish on its way, and repeats only what was under way',
  async () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = new Random(seed);
    await using site = await DeliverySite.start({ crowds: [{ apns: DEVICES }] });
    const { journal } = site.apns;
    const instance = site.instance(0);
    const devices = instance.devices.apns;
    const addressOf = new Map(devices.map(({ number, address }) => [number, address]));
    const figures = { rounds: 0, kills: 0, lost: 0, doubles: 0, doublesPossible: 0 };

    for (let round = 0; round < ROUNDS; round++) {
      journal.clear();
      const publishId = await site.publish(instance, newsFor('apns'));
      /** How often each device was under way when the server was killed. */
      const underWay = new Map<string, number>();
      let pages = 0;
      for (let kill = 0; kill < KILLS; kill++) {
        const left = Math.max(0, DEVICES - journal.count);
        const arrivals = journal.count + Math.floor(random.next() * (left + 1));
        await killAt(site, arrivals, Math.floor(random.next() * TURNS_MAX));
        const held = heldWork(site.server);
        pages += held.pages;
        for (const number of held.devices) {
          const address = addressOf.get(number) ?? '';
          underWay.set(address, (underWay.get(address) ?? 0) + 1);
        }
        await site.startAgain();
      }

      const status = await site.finished(instance, publishId);
      const arrived = journal.list();
      const times = timesOf(arrived.map(({ token }) => token));
      const lost = devices.filter(({ address }) => !times.has(address));
      const unexplained = [...times].filter(
        ([address, count]) => count > 1 + (underWay.get(address) ?? 0),
      );
      const doubles = arrived.length - times.size;
      expect({ seed, round, lost: lost.length, unexplained, status }).toMatchObject({
        seed,
        round,
        lost: 0,
        unexplained: [],
        status: {
          state: 'finished',
          platforms: { apns: allAccepted(devices), fcm: countsOf({}), web: countsOf({}) },
          reasons: [],
        },
      });
      expect(doubles).toBeLessThanOrEqual(pages * PAGE_DEVICES);
      // Whoever has got it twice sees it once.
      const ids = new Set(arrived.map(({ fields }) => fields['apns-collapse-id']));
      expect([...ids]).toEqual([publishId]);
      expect(new Set(arrived.map(({ status }) => status))).toEqual(new Set([200]));

      figures.rounds += 1;
      figures.kills += KILLS;
      figures.lost += lost.length;
      figures.doubles += doubles;
      figures.doublesPossible += pages * PAGE_DEVICES;
    }
    console.log(`kill -9 while delivering: ${JSON.stringify({ seed, ...figures })}`);
  },
  ROUNDS * ROUND_MS,
);
