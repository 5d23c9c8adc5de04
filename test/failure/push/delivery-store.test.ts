import { describe, expect, it } from 'bun:test';
import { becomes, complaints, holdStore, limitFileSize } from '../store-trouble.ts';
import { allAccepted, DeliverySite, newsFor, type SiteInstance, timesOf } from './delivery-site.ts';

const LONG_MS = 180_000;

/** More than a server holds at once and has sent before, so that it cannot deliver all of them without its store. */
const DEVICES = 15_000;

/** How long the gateway takes until the store is in trouble: a server sends some thousands in that time. */
const LATENCY_MS = 1_000;

/** Longer than the pauses between two looks of a server at its store. */
const SEVERAL_LOOKS_MS = 2_200;

const LOOK_MS = 20;

/** What `/readyz` says while the store does not work. */
const NOT_READY = /^503[\s\S]*store:/;

const nothing = async () => undefined;

/** Publishes, and settles when some devices have got it, and many not. */
async function publishPart(site: DeliverySite, instance: SiteInstance): Promise<string> {
  site.apns.script.latencyMs = LATENCY_MS;
  const publishId = await site.publish(instance, newsFor('apns'));
  await site.apns.arrivals.reaches(1);
  return publishId;
}

/** Settles once nothing has arrived for so long that the server has tried its store several times; returns how many have. */
async function standsStill({ apns: { arrivals, script } }: DeliverySite): Promise<number> {
  script.latencyMs = 0;
  let { count } = arrivals;
  for (let sinceMs = performance.now(); performance.now() - sinceMs < SEVERAL_LOOKS_MS; ) {
    await Bun.sleep(LOOK_MS);
    if (arrivals.count === count) continue;
    count = arrivals.count;
    sinceMs = performance.now();
  }
  return count;
}

/** All devices have got it once: the server has waited for its store, and forgotten nothing meanwhile. */
async function expectOnce(site: DeliverySite, instance: SiteInstance, publishId: string) {
  const { apns } = instance.devices;
  expect(await becomes(site.server, /^200/, nothing)).toBe('200 ready\n');
  expect(await site.finished(instance, publishId)).toMatchObject({
    platforms: { apns: allAccepted(apns) },
    reasons: [],
  });
  const times = timesOf(site.apns.arrivals.list().map(({ token }) => token));
  expect([times.size, site.apns.arrivals.count]).toEqual([apns.length, apns.length]);
  expect(complaints(site.server)).toEqual(['The store does not work']);
}

describe('delivering, while the store', () => {
  it.concurrent(
    'is locked stops, and continues where it was once it is free',
    async () => {
      await using site = await DeliverySite.start({ crowds: [{ apns: DEVICES }] });
      const instance = site.instance(0);
      const publishId = await publishPart(site, instance);
      {
        await using _lock = await holdStore(site.server);
        expect(await becomes(site.server, NOT_READY, nothing)).toMatch(
          /another process holds the store locked/,
        );
        expect(await standsStill(site)).toBeLessThan(DEVICES);
      }
      await expectOnce(site, instance, publishId);
    },
    LONG_MS,
  );

  // What sets the limit of another process is there on Linux only.
  it.concurrent.if(process.platform === 'linux')(
    'is full stops, and continues where it was once there is room',
    async () => {
      const program = `${import.meta.dir}/../full-disk-server.fixture.ts`;
      await using site = await DeliverySite.start({ crowds: [{ apns: DEVICES }], program });
      const instance = site.instance(0);
      const publishId = await publishPart(site, instance);
      await limitFileSize(site.server, 0);
      expect(await becomes(site.server, NOT_READY, nothing)).toMatch(
        /the disk (?:is full|cannot be read or written)/,
      );
      expect(await standsStill(site)).toBeLessThan(DEVICES);
      await limitFileSize(site.server, 'unlimited');
      await expectOnce(site, instance, publishId);
    },
    LONG_MS,
  );

  it.concurrent(
    'is locked and the server is killed, everybody gets it after the next start',
    async () => {
      await using site = await DeliverySite.start({ crowds: [{ apns: DEVICES }] });
      const instance = site.instance(0);
      const { apns } = instance.devices;
      const publishId = await publishPart(site, instance);
      {
        await using _lock = await holdStore(site.server);
        await becomes(site.server, NOT_READY, nothing);
        await site.server.stop('SIGKILL');
      }
      site.apns.script.latencyMs = 0;
      await site.startAgain();
      expect(await site.finished(instance, publishId)).toMatchObject({
        platforms: { apns: allAccepted(apns) },
        reasons: [],
      });
      const times = timesOf(site.apns.arrivals.list().map(({ token }) => token));
      expect(times.size).toBe(apns.length);
    },
    LONG_MS,
  );
});
