import { expect, it } from 'bun:test';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { Random } from '../../../testing/random.ts';
import { heldWork } from './delivery-rows.ts';
import { allAccepted, DeliverySite, newsFor, timesOf } from './delivery-site.ts';

const LONG_MS = 180_000;

const DEVICES = runs(6_000, 20_000);

/** How often the server is stopped during one publish. */
const STOPS = 2;

/** How long the gateway takes to answer, so that something is in flight whenever the server is stopped. */
const LATENCY_MS = 20;

it(
  'is stopped in the middle of a publish and started again: each device gets it, and once',
  async () => {
    const seed = testSeed();
    const random = new Random(seed);
    await using site = await DeliverySite.start({ crowds: [{ apns: DEVICES }] });
    const { arrivals, script } = site.apns;
    const instance = site.instance(0);
    const { apns } = instance.devices;
    script.latencyMs = LATENCY_MS;

    const publishId = await site.publish(instance, newsFor('apns'));
    const stoppedAt: number[] = [];
    for (let stop = 1; stop <= STOPS; stop++) {
      // Somewhere in its own part of the publish, so that there is something left for the others.
      const part = (stop - 1 + random.next()) / STOPS;
      await arrivals.reaches(Math.max(arrivals.count, Math.floor(part * DEVICES)));
      expect(await site.server.stop('SIGTERM')).toBe(0);
      expect({ seed, held: heldWork(site.server) }).toEqual({
        seed,
        held: { pages: 0, devices: [] },
      });
      stoppedAt.push(arrivals.count);
      await site.startAgain();
    }

    const status = await site.finished(instance, publishId);
    const times = timesOf(arrivals.list().map(({ token }) => token));
    const lost = apns.filter(({ address }) => !times.has(address)).length;
    expect({ seed, lost, arrivals: arrivals.count, status }).toMatchObject({
      seed,
      lost: 0,
      arrivals: DEVICES,
      status: { platforms: { apns: allAccepted(apns) }, reasons: [] },
    });
    console.log(`stopped while delivering: ${JSON.stringify({ seed, stoppedAt })}, no doubles`);
  },
  LONG_MS,
);
