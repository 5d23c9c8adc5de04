import { describe, expect, it } from 'bun:test';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { apnsRefusal } from '../../../src/fake-gateways/apns/fake-apns.ts';
import { fcmRefusal } from '../../../src/fake-gateways/fcm/fake-fcm.ts';
import type { Act } from '../../../src/fake-gateways/script.ts';
import { type Platform, platforms } from '../../../src/push/model/device.ts';
import { admin } from '../../../testing/clients/admin-api.ts';
import { LiveStream } from '../../../testing/clients/live-stream.ts';
import { requestPush } from '../../../testing/clients/push-requests.ts';
import {
  allAccepted,
  type Crowd,
  countsOf,
  DeliverySite,
  newsFor,
  newsUntil,
  type SiteDevice,
  type SiteInstance,
  timesOf,
  writeSigningKey,
} from './delivery-site.ts';
import { openRows } from './rows.ts';

/** Gateways in trouble. Each server has another instance, which all of it must not concern. */

const LONG_MS = 180_000;

const HANGS: Act = { act: 'hang' };

/** Longer than the server waits for an answer, and not long enough for another attempt. */
const ONE_ATTEMPT_MS = 16_000;

/** How soon devices that waited for a credential are reached once it works, even on a slow machine. */
const SOON_MS = 60_000;

const QUIET: Crowd = { apns: 3, fcm: 3, web: 3 };

/** A site that has delivered to every device once: it is connected, and knows the limits of gateways. */
async function warmSite(crowds: readonly Crowd[]): Promise<DeliverySite> {
  await using parts = new AsyncDisposableStack();
  const site = parts.use(await DeliverySite.start({ crowds }));
  for (const instance of site.instances) await site.delivers(instance, newsFor());
  site.apns.arrivals.clear();
  site.fcm.arrivals.clear();
  site.web.arrivals.clear();
  // The caller ends it.
  parts.move();
  return site;
}

function first(devices: readonly SiteDevice[]): SiteDevice {
  const [device] = devices;
  if (device === undefined) throw new Error('There is no device');
  return device;
}

/** The device at this part of all. */
function deviceAt(devices: readonly SiteDevice[], part: number): SiteDevice {
  return first(devices.slice(Math.floor(devices.length * part)));
}

function newSigningKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** The file of a service account, with a key that Google does not know. */
function withStrangeKey(accountFile: string): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' });
  return JSON.stringify({ ...JSON.parse(accountFile), private_key: pem });
}

/** Makes each notification for a device of an instance fail in this way. */
function forAll(
  site: DeliverySite,
  { devices }: SiteInstance,
  acts: Partial<Record<Platform, Act>>,
  times?: number,
): void {
  for (const platform of platforms) {
    const act = acts[platform];
    if (act === undefined) continue;
    for (const { address } of devices[platform]) {
      site[platform].script.forToken(address, act, times);
    }
  }
}

/** Whatever goes wrong for others: this instance reaches all of its devices, and soon. */
async function expectUntroubled(site: DeliverySite, instance: SiteInstance): Promise<void> {
  const { apns, fcm, web } = instance.devices;
  expect(await site.delivers(instance, newsFor())).toMatchObject({
    state: 'finished',
    platforms: { apns: allAccepted(apns), fcm: allAccepted(fcm), web: allAccepted(web) },
    reasons: [],
  });
}

/** When notifications for a device arrived, with their answers. */
function arrivalsAt(site: DeliverySite, { address }: SiteDevice) {
  return site.apns.arrivals.list().filter(({ token }) => token === address);
}

describe('a gateway', () => {
  it.concurrent(
    'that never answers is tried again until the time to live ends',
    async () => {
      await using site = await warmSite([
        { apns: 30, fcm: 10, web: 10 },
        { apns: 5, fcm: 5, web: 5 },
        QUIET,
      ]);
      const [patient, hasty, quiet] = [site.instance(0), site.instance(1), site.instance(2)];
      const all = { apns: HANGS, fcm: HANGS, web: HANGS };
      forAll(site, patient, all, 1);
      forAll(site, hasty, all);
      const patientId = await site.publish(patient, newsFor());
      const hastyId = await site.publish(
        hasty,
        newsUntil(Date.now() + ONE_ATTEMPT_MS, 'apns', 'fcm', 'web'),
      );
      await expectUntroubled(site, quiet);
      for (const [instance, id] of [
        [patient, patientId],
        [hasty, hastyId],
      ] as const) {
        expect((await site.status(instance, id)).state).not.toBe('finished');
      }

      const { apns, fcm, web } = patient.devices;
      expect(await site.finished(patient, patientId)).toMatchObject({
        platforms: { apns: allAccepted(apns), fcm: allAccepted(fcm), web: allAccepted(web) },
      });
      for (const [arrivals, devices] of [
        [site.apns.arrivals, apns],
        [site.fcm.arrivals, fcm],
      ] as const) {
        const times = timesOf(arrivals.list().map(({ token }) => token));
        expect(devices.map(({ address }) => times.get(address))).toEqual(devices.map(() => 2));
      }
      const expired = (devices: readonly SiteDevice[]) =>
        countsOf({ planned: devices.length, expired: devices.length });
      expect(await site.finished(hasty, hastyId)).toMatchObject({
        platforms: {
          apns: expired(hasty.devices.apns),
          fcm: expired(hasty.devices.fcm),
          web: expired(hasty.devices.web),
        },
      });
    },
    LONG_MS,
  );

  it.concurrent(
    'with a storm of errors gets a pause, and reaches everybody once it is over',
    async () => {
      await using site = await warmSite([{ apns: 200, fcm: 50, web: 10 }, QUIET]);
      const [troubled, quiet] = [site.instance(0), site.instance(1)];
      forAll(site, troubled, {
        apns: apnsRefusal(503, 'ServiceUnavailable'),
        fcm: fcmRefusal(503, 'UNAVAILABLE'),
      });
      await using stream = await LiveStream.ofInstance(site.server, troubled.id);
      const publishId = await site.publish(troubled, newsFor());
      await site.server.logged(/sending is paused.*"platform":"apns"/);
      await site.server.logged(/sending is paused.*"platform":"fcm"/);
      await expectUntroubled(site, quiet);
      const { apns, fcm, web } = troubled.devices;
      const during = await site.becomes(
        troubled,
        publishId,
        ({ platforms }) => platforms.web.accepted === web.length,
      );
      expect(during.state).toBe('delivering');
      expect(during.platforms.apns).toMatchObject({ planned: apns.length, accepted: 0, failed: 0 });
      expect(during.platforms.fcm).toMatchObject({ planned: fcm.length, accepted: 0, failed: 0 });
      const { json: list } = await admin(site.server, 'GET', `/instances/${troubled.id}/publishes`);
      expect(list).toMatchObject({ publishes: [{ id: publishId, paused: true }, {}] });

      site.apns.script.clear();
      site.fcm.script.clear();
      expect(await site.finished(troubled, publishId)).toMatchObject({
        platforms: { apns: allAccepted(apns), fcm: allAccepted(fcm), web: allAccepted(web) },
      });
      const again = new Set(site.apns.arrivals.list().map(({ status }) => status));
      expect(again).toEqual(new Set([200, 503]));
      await site.server.logged(/Gateway recovered/);
      for (const platform of ['apns', 'fcm'] as const) {
        await stream.record({ kind: 'paused', platform });
        await stream.record({ kind: 'resumed', platform });
      }
      // Also what was left out is counted.
      const accepted = () =>
        (stream.events.get('counts') ?? []).reduce<number>(
          (sum, counts) => sum + (Object(counts).kinds.accepted ?? 0),
          0,
        );
      await stream.event('counts', () => accepted() === apns.length + fcm.length + web.length);
    },
    LONG_MS,
  );

  it.concurrent(
    'that sends GOAWAY in the middle of a publish loses nothing',
    async () => {
      await using site = await warmSite([{ apns: 1000, fcm: 300 }, QUIET]);
      const [troubled, quiet] = [site.instance(0), site.instance(1)];
      const { apns, fcm } = troubled.devices;
      for (const [platform, devices] of [
        ['apns', apns],
        ['fcm', fcm],
      ] as const) {
        const { script } = site[platform];
        script.latencyMs = 20;
        for (const place of [0.2, 0.5, 0.9]) {
          script.forToken(deviceAt(devices, place).address, { act: 'go-away' }, 1);
        }
      }
      const publishId = await site.publish(troubled, newsFor('apns', 'fcm'));
      await expectUntroubled(site, quiet);
      expect(await site.finished(troubled, publishId)).toMatchObject({
        platforms: { apns: allAccepted(apns), fcm: allAccepted(fcm) },
        reasons: [],
      });
      for (const platform of ['apns', 'fcm']) {
        await site.server.logged(
          new RegExp(`Connection to a gateway closed.*"platform":"${platform}"`),
        );
      }
      const arrived = [...site.apns.arrivals.list(), ...site.fcm.arrivals.list()];
      const times = timesOf(arrived.map(({ token }) => token));
      expect([...apns, ...fcm].filter(({ address }) => times.get(address) !== 1)).toEqual([]);
    },
    LONG_MS,
  );

  it.concurrent(
    'that ends connections in the middle of a publish loses nothing',
    async () => {
      await using site = await warmSite([{ apns: 1000, fcm: 300 }, QUIET]);
      const [troubled, quiet] = [site.instance(0), site.instance(1)];
      const { apns, fcm } = troubled.devices;
      for (const [platform, devices] of [
        ['apns', apns],
        ['fcm', fcm],
      ] as const) {
        const { script } = site[platform];
        script.latencyMs = 20;
        script.forToken(deviceAt(devices, 0.5).address, { act: 'cut' }, 1);
      }
      const publishId = await site.publish(troubled, newsFor('apns', 'fcm'));
      await expectUntroubled(site, quiet);
      expect(await site.finished(troubled, publishId)).toMatchObject({
        platforms: { apns: allAccepted(apns), fcm: allAccepted(fcm) },
      });
      const arrived = [...site.apns.arrivals.list(), ...site.fcm.arrivals.list()];
      const times = timesOf(arrived.map(({ token }) => token));
      expect([...apns, ...fcm].filter(({ address }) => !times.has(address))).toEqual([]);
    },
    LONG_MS,
  );

  it.concurrent(
    'that asks for a pause of some seconds gets it',
    async () => {
      // Longer than the server would wait of its own accord.
      const afterMs = 8_000;
      const fields = { 'retry-after': String(afterMs / 1000) };
      await using site = await warmSite([{ apns: 20, fcm: 20, web: 20 }, QUIET]);
      const [troubled, quiet] = [site.instance(0), site.instance(1)];
      const { apns, fcm, web } = troubled.devices;
      const busy = first(apns);
      site.apns.script.forToken(busy.address, apnsRefusal(429, 'TooManyRequests', fields), 1);
      // FCM means the whole project, as several devices show; Apple and the push services mean one device.
      for (const { address } of fcm) {
        site.fcm.script.forToken(address, fcmRefusal(429, 'QUOTA_EXCEEDED', fields), 1);
      }
      site.web.script.forToken(web[0]?.address ?? '', { act: 'answer', status: 429, fields }, 1);
      const early = await site.publish(troubled, newsFor());
      await site.server.logged(/sending is paused.*"platform":"fcm"/);
      const late = await site.publish(troubled, newsFor('fcm'));
      await expectUntroubled(site, quiet);
      expect(await site.status(troubled, late)).toMatchObject({
        state: 'delivering',
        platforms: { fcm: { planned: fcm.length, accepted: 0 } },
      });

      expect(await site.finished(troubled, early)).toMatchObject({
        platforms: { apns: allAccepted(apns), fcm: allAccepted(fcm), web: allAccepted(web) },
        reasons: [],
      });
      expect(await site.finished(troubled, late)).toMatchObject({
        platforms: { fcm: allAccepted(fcm) },
      });
      const [refused, taken, ...more] = arrivalsAt(site, busy);
      expect([refused?.status, taken?.status, more]).toEqual([429, 200, []]);
      expect((taken?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThanOrEqual(afterMs);
      const others = site.apns.arrivals.list().filter(({ token }) => token !== busy.address);
      // The others have not waited for it.
      expect(Math.max(...others.map(({ atMs }) => atMs))).toBeLessThan(taken?.atMs ?? 0);
      const fcmArrivals = site.fcm.arrivals
        .list()
        .filter(({ token }) => fcm.some(({ address }) => address === token));
      const refusals = fcmArrivals.filter(({ status }) => status === 429);
      const refusedAtMs = Math.min(...refusals.map(({ atMs }) => atMs));
      const later = fcmArrivals.filter(({ status }) => status === 200);
      expect([refusals.length, later.length]).toEqual([fcm.length, 2 * fcm.length]);
      expect(Math.min(...later.map(({ atMs }) => atMs))).toBeGreaterThanOrEqual(
        refusedAtMs + afterMs,
      );
    },
    LONG_MS,
  );

  it.concurrent(
    'that refuses the credential gets only probes until that is fixed',
    async () => {
      await using site = await warmSite([{ apns: 30, fcm: 30, web: 5 }, QUIET]);
      const [troubled, quiet] = [site.instance(0), site.instance(1)];
      const { apns, fcm, web } = troubled.devices;
      const account = readFileSync(troubled.accountFile, 'utf8');
      writeSigningKey(troubled.keyFile, newSigningKey());
      writeFileSync(troubled.accountFile, withStrangeKey(account));
      site.server.process.kill('SIGHUP');
      await site.server.logged(/Instances changed/);

      const apnsId = await site.publish(troubled, newsFor('apns'));
      const fcmId = await site.publish(troubled, newsFor('fcm'));
      const said = await site.server.logged(/refuses the credential.*"platform":"apns"/);
      expect(JSON.parse(said)).toMatchObject({ level: 'warn', reason: 'InvalidProviderToken' });
      await site.server.logged(/refuses the credential.*"platform":"fcm"/);
      await expectUntroubled(site, quiet);
      expect(await site.delivers(troubled, newsFor('web'))).toMatchObject({
        platforms: { web: allAccepted(web) },
      });
      for (const [platform, id, devices] of [
        ['apns', apnsId, apns],
        ['fcm', fcmId, fcm],
      ] as const) {
        const status = await site.status(troubled, id);
        expect(status.state).toBe('delivering');
        const { planned, accepted, retrying: _, ...lost } = status.platforms[platform];
        expect([planned, accepted]).toEqual([devices.length, 0]);
        expect(lost).toEqual({ failed: 0, pruned: 0, expired: 0, cancelled: 0 });
        expect(await site.explain(troubled, id, { device: first(devices) })).toContainEqual(
          expect.objectContaining({ what: 'gateway-paused' }),
        );
      }
      const attempts = site.apns.arrivals.list().filter(({ status }) => status === 403);
      const seconds = (Date.now() - Math.min(...attempts.map(({ atMs }) => atMs))) / 1000;
      // Each device once, then four probes a round: after one second, and with pauses that double.
      const rounds = 1 + Math.log2(1 + seconds);
      expect(attempts.length).toBeLessThanOrEqual(apns.length + 4 * rounds);

      writeSigningKey(troubled.keyFile, troubled.signingKey);
      writeFileSync(troubled.accountFile, account);
      const mendedAtMs = performance.now();
      site.server.process.kill('SIGHUP');
      expect(await site.finished(troubled, apnsId)).toMatchObject({
        platforms: { apns: allAccepted(apns) },
        reasons: [],
      });
      expect(await site.finished(troubled, fcmId)).toMatchObject({
        platforms: { fcm: allAccepted(fcm) },
        reasons: [],
      });
      expect(performance.now() - mendedAtMs).toBeLessThan(SOON_MS);
    },
    LONG_MS,
  );

  it.concurrent(
    'that reports since when a token is gone removes only devices that registered before',
    async () => {
      await using site = await warmSite([{ apns: 10 }, QUIET]);
      const [troubled, quiet] = [site.instance(0), site.instance(1)];
      const { apns } = troubled.devices;
      const [gone, back, ...others] = apns;
      if (gone === undefined || back === undefined) throw new Error('no devices');
      const nowMs = Date.now();
      const { script } = site.apns;
      script.forToken(gone.address, apnsRefusal(410, 'Unregistered', {}, nowMs));
      script.forToken(back.address, apnsRefusal(410, 'Unregistered', {}, nowMs - 3_600_000));
      const publishId = await site.publish(troubled, newsFor('apns'));
      await expectUntroubled(site, quiet);
      expect(await site.finished(troubled, publishId)).toMatchObject({
        platforms: {
          apns: countsOf({ planned: 10, accepted: others.length, pruned: 1, failed: 1 }),
        },
        reasons: [
          expect.objectContaining({ platform: 'apns', reason: 'Unregistered', devices: 1 }),
          expect.objectContaining({ platform: 'apns', reason: 'token-stale', devices: 1 }),
        ],
      });
      const found = async ({ id }: SiteDevice) =>
        (await requestPush(site.server, troubled.requests.readDevice(id))).status;
      expect([await found(gone), await found(back)]).toEqual([404, 200]);
      {
        using rows = openRows(site.server);
        const tombstones = rows.query('SELECT id, reason FROM device_tombstones').all();
        expect(tombstones).toEqual([{ id: gone.id, reason: 'Unregistered' }]);
      }

      script.clear();
      site.apns.arrivals.clear();
      expect(await site.delivers(troubled, newsFor('apns'))).toMatchObject({
        platforms: { apns: allAccepted([back, ...others]) },
        reasons: [],
      });
      const times = timesOf(site.apns.arrivals.list().map(({ token }) => token));
      expect([times.get(gone.address), times.get(back.address)]).toEqual([undefined, 1]);
    },
    LONG_MS,
  );
});
