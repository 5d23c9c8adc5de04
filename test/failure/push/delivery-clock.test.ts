import { describe, expect, it } from 'bun:test';
import type { Platform } from '../../../src/push/model/device.ts';
import {
  allAccepted,
  DeliverySite,
  newsFor,
  type SiteDevice,
  type SiteInstance,
  type SiteOptions,
  timesOf,
} from './delivery-site.ts';

/** Eight servers deliver at once here. */
const LONG_MS = 180_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Messages in flight to browsers at the same time, at most: HTTP/1.1 has 128. */
const IN_FLIGHT_MAX = 128;

/** Several times as many, so that a clock jumps in the middle of a publish. */
const CROWD = 900;

const PROGRAM = `${import.meta.dir}/../clock-server.fixture.ts`;

/** A server whose clock is this far off, and jumps by this much with `jump`. */
function start(
  crowd: SiteOptions['crowds'][number],
  { offsetMs = 0, jumpMs = 0, gatewayNowMs = Date.now, areTrusted = false },
): Promise<DeliverySite> {
  return DeliverySite.start({
    crowds: [crowd],
    areTrusted,
    program: PROGRAM,
    environment: clock(offsetMs, jumpMs),
    gatewayNowMs,
  });
}

function clock(offsetMs: number, jumpMs = 0): Readonly<Record<string, string>> {
  return { CLOCK_OFFSET_MS: String(offsetMs), CLOCK_JUMP_MS: String(jumpMs) };
}

function jump(site: DeliverySite): void {
  site.server.process.kill('SIGUSR2');
}

/** How far the clock of the server is off now, read from the time of a publish. */
async function offsetOf(site: DeliverySite, instance: SiteInstance): Promise<number> {
  const nobody = { ...newsFor('web'), interests: ['nobody-wants-this'] };
  const { createdAt } = await site.delivers(instance, nobody);
  return Date.parse(createdAt) - Date.now();
}

/** How often each browser was posted to. */
function postsTo(site: DeliverySite): Map<string, number> {
  return timesOf(site.web.arrivals.list().map(({ endpoint }) => endpoint));
}

/** Push services ignore the clock of the sender: arrivals have the time of the clock of the test. */
describe('where the clock of a server', () => {
  it.concurrent.each([
    ['ahead', HOUR_MS],
    ['behind', -HOUR_MS],
  ])(
    'is an hour %s, a scheduled publish goes out when its time has come by that clock',
    async (_, offsetMs) => {
      await using site = await start({ web: 3 }, { offsetMs, jumpMs: HOUR_MS });
      const instance = site.instance(0);
      const { web } = instance.devices;
      const nowMs = () => Date.now() + offsetMs;
      const at = (aheadMs: number) => new Date(nowMs() + aheadMs).toISOString();
      const soon = at(2_000);
      const soonId = await site.publish(instance, { ...newsFor('web'), sendAt: soon });
      const laterId = await site.publish(instance, { ...newsFor('web'), sendAt: at(HOUR_MS / 2) });

      await site.web.arrivals.reaches(1);
      expect(nowMs()).toBeGreaterThanOrEqual(Date.parse(soon));
      expect(await site.finished(instance, soonId)).toMatchObject({
        platforms: { web: allAccepted(web) },
      });
      expect(await site.status(instance, laterId)).toMatchObject({ state: 'scheduled' });
      expect(site.web.arrivals.count).toBe(web.length);

      jump(site);
      expect(await site.finished(instance, laterId)).toMatchObject({
        platforms: { web: allAccepted(web) },
      });
      expect(site.web.arrivals.count).toBe(2 * web.length);
    },
    LONG_MS,
  );

  it.concurrent.each([
    ['on', HOUR_MS],
    ['back', -HOUR_MS],
  ])(
    'jumps an hour %s in the middle of a publish, no device is lost',
    async (_, jumpMs) => {
      await using site = await start({ web: CROWD }, { jumpMs });
      const instance = site.instance(0);
      const { web } = instance.devices;
      site.web.script.latencyMs = 20;
      const publishId = await site.publish(instance, newsFor('web'));
      await site.web.arrivals.reaches(CROWD / 6);
      jump(site);
      expect(await site.finished(instance, publishId)).toMatchObject({
        platforms: { web: allAccepted(web) },
        reasons: [],
      });
      expect(Math.abs((await offsetOf(site, instance)) - jumpMs)).toBeLessThan(MINUTE_MS);
      const posts = postsTo(site);
      expect(web.filter(({ address }) => !posts.has(address))).toEqual([]);
      const doubles = site.web.arrivals.count - web.length;
      console.log(`clock jumped by ${jumpMs / HOUR_MS} h while delivering: ${doubles} doubles`);
      // Requests in flight at that moment may look as if they had taken an hour.
      expect(doubles).toBeLessThanOrEqual(jumpMs > 0 ? IN_FLIGHT_MAX : 0);
    },
    LONG_MS,
  );

  it.concurrent.each([
    ['on', HOUR_MS],
    ['back', -HOUR_MS],
  ])(
    'has gone an hour %s when it is started again after a crash, claims do not hold up what they claimed',
    async (_, offsetMs) => {
      // If a starved machine makes the gateway slow, new devices rightly return later, one after the other.
      await using site = await start({ web: CROWD }, { areTrusted: true });
      const instance = site.instance(0);
      const { web } = instance.devices;
      site.web.script.latencyMs = 20;
      const publishId = await site.publish(instance, newsFor('web'));
      await site.web.arrivals.reaches(CROWD / 6);
      await site.server.stop('SIGKILL');
      site.web.script.latencyMs = 0;
      await site.startAgain(clock(offsetMs, -offsetMs));

      expect(await site.delivers(instance, newsFor('web'))).toMatchObject({
        platforms: { web: allAccepted(web) },
      });
      // By a clock that is behind, the first one is still to come.
      if (offsetMs < 0) {
        expect((await site.status(instance, publishId)).state).not.toBe('finished');
        jump(site);
      }
      expect(await site.finished(instance, publishId)).toMatchObject({
        platforms: { web: allAccepted(web) },
        reasons: [],
      });
      const posts = postsTo(site);
      expect(web.filter(({ address }) => (posts.get(address) ?? 0) < 2)).toEqual([]);
    },
    LONG_MS,
  );

  it.concurrent.each([
    ['ahead', 2 * HOUR_MS, 'InvalidProviderToken'],
    ['behind', -2 * HOUR_MS, 'ExpiredProviderToken'],
  ])(
    'is two hours %s, gateways refuse its credentials, and get everything once it is corrected',
    async (_, offsetMs, reason) => {
      let gatewayOffsetMs = 0;
      const gatewayNowMs = () => Date.now() + gatewayOffsetMs;
      await using site = await start({ apns: 3, fcm: 3, web: 3 }, { offsetMs, gatewayNowMs });
      const instance = site.instance(0);
      const { apns, fcm, web } = instance.devices;
      const ids: [Platform, readonly SiteDevice[], string][] = [];
      for (const [platform, devices] of [
        ['apns', apns],
        ['fcm', fcm],
      ] as const) {
        ids.push([platform, devices, await site.publish(instance, newsFor(platform))]);
        const said = `refuses the credential.*"platform":"${platform}"`;
        const line = JSON.parse(await site.server.logged(new RegExp(said)));
        if (platform === 'apns') expect(line).toMatchObject({ reason });
      }
      expect(await site.delivers(instance, newsFor('web'))).toMatchObject({
        platforms: { web: allAccepted(web) },
      });

      expect(await site.server.stop('SIGTERM')).toBe(0);
      // What was published ahead of the time is still to come then: let that time pass.
      if (offsetMs > 0) gatewayOffsetMs = offsetMs + MINUTE_MS;
      await site.startAgain(clock(gatewayOffsetMs));
      for (const [platform, devices, publishId] of ids) {
        expect(await site.finished(instance, publishId)).toMatchObject({
          platforms: { [platform]: allAccepted(devices) },
          reasons: [],
        });
      }
    },
    LONG_MS,
  );
});
