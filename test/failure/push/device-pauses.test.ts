import { expect, it } from 'bun:test';
import { join } from 'node:path';
import { apnsRefusal } from '../../../src/fake-gateways/apns/fake-apns.ts';
import { fcmRefusal } from '../../../src/fake-gateways/fcm/fake-fcm.ts';
import { type Platform, platforms } from '../../../src/push/model/device.ts';
import { admin } from '../../../testing/clients/admin-api.ts';
import { fanfare } from '../../cli/run-fanfare.ts';
import { allAccepted, countsOf, DeliverySite, newsFor, type SiteDevice } from './delivery-site.ts';

/** On each gateway, one device asks for a pause. */

const LONG_MS = 400_000;
// Longer than a busy machine takes for a restart and seven publishes.
const PAUSE_MS = 60_000;
const DEVICES = 5;

/** The ids of the devices that are listed as paused, by the admin API and by the command. */
async function pausedDevices({ server }: DeliverySite, instance: string): Promise<unknown> {
  const { json } = await admin(server, 'GET', `/instances/${instance}/devices?paused=true`);
  const config = join(server.directory, 'config.json');
  const args = ['devices', 'list', instance, '--paused', '--json', '--config', config];
  const { stdout } = await fanfare(server.directory, args);
  const ids = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id).toSorted();
  return [
    ids((json as { devices: readonly { readonly id: string }[] }).devices),
    ids(JSON.parse(stdout)),
  ];
}

/** When requests for a device arrived, the oldest first. */
function listenTo(site: DeliverySite, platform: Platform, { address }: SiteDevice): number[] {
  const times: number[] = [];
  const add = (to: string) => to === address && times.push(Date.now());
  if (platform === 'web') site.web.arrivals.listen(({ endpoint }) => add(endpoint));
  else site[platform].arrivals.listen(({ token }) => add(token));
  return times;
}

it(
  'a pause that a device asked for is kept over kill -9, and then it gets one publish per second',
  async () => {
    await using site = await DeliverySite.start({
      crowds: [{ apns: DEVICES, fcm: DEVICES, web: DEVICES }],
      areTrusted: true,
    });
    const instance = site.instance(0);
    await site.delivers(instance, newsFor());
    const fields = { 'retry-after': String(PAUSE_MS / 1000) };
    const acts = {
      apns: apnsRefusal(429, 'TooManyRequests', fields),
      fcm: fcmRefusal(429, 'QUOTA_EXCEEDED', fields),
      web: { act: 'answer', status: 429, fields },
    } as const;
    const arrivals = platforms.map((platform) => {
      const [device] = instance.devices[platform];
      if (device === undefined) throw new Error('there is no device');
      site[platform].script.forToken(device.address, acts[platform], 1);
      return listenTo(site, platform, device);
    });
    const waiting = countsOf({ planned: DEVICES, accepted: DEVICES - 1, retrying: 1 });
    const othersHaveIt = (id: string) =>
      site.becomes(instance, id, (status) =>
        platforms.every((platform) => Bun.deepEquals(status.platforms[platform], waiting)),
      );

    const ids = [await site.publish(instance, newsFor())];
    await othersHaveIt(ids[0] as string);
    await site.server.stop('SIGKILL');
    await site.startAgain();
    for (let more = 0; more < 7; more++) ids.push(await site.publish(instance, newsFor()));
    for (const id of ids) await othersHaveIt(id);
    const before = arrivals.map((times) => times.length);
    const paused = platforms.map((platform) => instance.devices[platform][0]?.id ?? '').toSorted();
    expect(await pausedDevices(site, instance.id)).toEqual([paused, paused]);
    for (const platform of platforms) {
      const events = await site.explain(instance, ids[7] as string, {
        device: instance.devices[platform][0] as SiteDevice,
      });
      expect(events).toContainEqual(
        expect.objectContaining({
          what: 'device-paused',
          detail: expect.stringMatching(/until .*Z, as it has failed once .* 8 publishes wait/),
        }),
      );
    }

    for (const id of ids) {
      expect(await site.finished(instance, id)).toMatchObject({
        platforms: {
          apns: allAccepted(instance.devices.apns),
          fcm: allAccepted(instance.devices.fcm),
          web: allAccepted(instance.devices.web),
        },
        reasons: [],
      });
    }
    expect(await pausedDevices(site, instance.id)).toEqual([[], []]);
    expect(before).toEqual([1, 1, 1]);
    for (const [refusedMs, ...taken] of arrivals) {
      expect(taken).toHaveLength(8);
      const [first = 0] = taken;
      expect(first - (refusedMs ?? 0)).toBeGreaterThanOrEqual(PAUSE_MS);
      // One per second: eight take seven.
      expect((taken.at(-1) ?? 0) - first).toBeGreaterThanOrEqual(6_000);
    }
  },
  LONG_MS,
);
