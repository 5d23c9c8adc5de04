import { describe, expect, it } from 'bun:test';
import { requestPush } from '../../../testing/clients/push-requests.ts';
import { heldWork } from './delivery-rows.ts';
import {
  allAccepted,
  DeliverySite,
  newsFor,
  type SiteDevice,
  type SiteInstance,
  timesOf,
} from './delivery-site.ts';

/** Servers with a wrong clock are started four times, and each is killed. */
const LONG_MS = 300_000;
const MINUTE_MS = 60_000;

/** More than the time within which the devices of a zone begin after their quiet hours. */
const LATE_MS = 6 * MINUTE_MS;

const GROUP = 20;
const PROGRAM = `${import.meta.dir}/../clock-server.fixture.ts`;

interface Kind {
  /** What devices say of themselves that are due so many hours later than the others. */
  readonly preferences: (hours: number, nowMs: number) => object;
  readonly publish: (nowMs: number) => object;
}

const timeOf = (ms: number) => new Date(ms).toISOString().slice(11, 16);

const kinds: Readonly<Record<string, Kind>> = {
  'the clock of each device': {
    preferences: (hours) => ({ timeZone: `Etc/GMT+${hours}` }),
    publish: (nowMs) => ({ sendAtLocal: new Date(nowMs - MINUTE_MS).toISOString().slice(0, 16) }),
  },
  'quiet hours': {
    preferences: (hours, nowMs) => ({
      quietHours: { from: timeOf(nowMs - LATE_MS), to: timeOf(nowMs + hours * 60 * MINUTE_MS) },
    }),
    publish: () => ({}),
  },
};

describe('a server that is killed with kill -9 while devices are due later', () => {
  it.each(Object.entries(kinds))(
    'sends to each once, when it is due, by %s',
    async (_, { preferences, publish }) => {
      let offsetMs = 0;
      const clock = () => ({ CLOCK_OFFSET_MS: String(offsetMs), CLOCK_JUMP_MS: '0' });
      await using site = await DeliverySite.start({
        crowds: [{ web: 3 * GROUP }],
        program: PROGRAM,
        environment: clock(),
        gatewayNowMs: () => Date.now() + offsetMs,
      });
      const startMs = Date.now();
      const instance = site.instance(0);
      const { web } = instance.devices;
      const groups = [0, 1, 2].map((hours) => web.filter((_, place) => place % 3 === hours));
      for (const [hours, devices] of groups.entries()) {
        if (hours === 0) continue;
        for (const device of devices)
          await say(site, instance, { device, preferences: preferences(hours, startMs) });
      }
      /** How often each device of a group got it. */
      const timesIn = (group: number) => {
        const got = site.web.arrivals.list().filter(({ text = '' }) => text.includes('Due'));
        const times = timesOf(got.map(({ endpoint }) => endpoint));
        return (groups[group] ?? []).map(({ address }) => times.get(address) ?? 0);
      };
      const killAndWait = async (minutes: number) => {
        await site.server.stop('SIGKILL');
        const inFlight = new Set(heldWork(site.server).devices);
        offsetMs = minutes * MINUTE_MS;
        site.web.script.latencyMs = 0;
        await site.startAgain(clock());
        return inFlight;
      };
      const once = Array.from({ length: GROUP }, () => 1);
      const never = once.map(() => 0);

      // In the middle of those that are due at once.
      site.web.script.latencyMs = 20;
      const body = { ...newsFor('web'), web: { notification: { title: 'Due' } } };
      const id = await site.publish(instance, { ...body, ...publish(startMs) });
      await site.web.arrivals.reaches(GROUP / 4);
      const inFlight = await killAndWait(0);
      await settles(site, instance, { id, accepted: GROUP });
      const repeated = (groups[0] ?? []).filter((_, place) => (timesIn(0)[place] ?? 0) !== 1);
      expect(repeated.filter(({ number }) => !inFlight.has(number))).toEqual([]);
      const first = timesIn(0);

      // A moment before the next are due: a publish that passes everything shows that nothing else is.
      for (const [minutes, group] of [
        [50, 1],
        [110, 2],
      ] as const) {
        await killAndWait(minutes);
        const status = await site.status(instance, id);
        expect(status).toMatchObject({ state: 'delivering' });
        const dueMs = Date.parse(String((status as { nextAt?: unknown }).nextAt)) - startMs;
        expect(dueMs / MINUTE_MS).toBeGreaterThan(minutes);
        expect(dueMs / MINUTE_MS).toBeLessThanOrEqual(group * 60 + 5);
        const urgent = { ...newsFor('web'), urgent: true };
        expect((await site.delivers(instance, urgent)).platforms.web).toEqual(allAccepted(web));
        expect(timesIn(group)).toEqual(never);

        await killAndWait(group * 60 + LATE_MS / MINUTE_MS);
        await settles(site, instance, { id, accepted: (group + 1) * GROUP });
        expect(timesIn(group)).toEqual(once);
        // Nobody got it again.
        expect(timesIn(0)).toEqual(first);
        expect(timesIn(1)).toEqual(once);
      }
      expect(await site.finished(instance, id)).toMatchObject({
        platforms: { web: allAccepted(web) },
        reasons: [],
      });
    },
    LONG_MS,
  );
});

async function say(
  site: DeliverySite,
  { id }: SiteInstance,
  { device, preferences }: { readonly device: SiteDevice; readonly preferences: object },
): Promise<void> {
  const { status } = await requestPush(site.server, {
    method: 'PUT',
    target: `/device_api/v1/instances/${id}/devices/web/${device.id}/preferences`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(preferences),
  });
  expect(status).toBe(200);
}

/** Waits until so many devices were accepted. */
async function settles(
  site: DeliverySite,
  instance: SiteInstance,
  { id, accepted }: { readonly id: string; readonly accepted: number },
): Promise<void> {
  await site.becomes(instance, id, ({ platforms }) => platforms.web.accepted === accepted);
}
