import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { GAVE_WAY } from '../../../src/push/backlog-store.ts';
import type { Platform } from '../../../src/push/model/device.ts';
import { requestPush } from '../../../testing/clients/push-requests.ts';
import {
  allAccepted,
  countsOf,
  DeliverySite,
  newsFor,
  type SiteInstance,
  type SiteStatus,
  writeSigningKey,
} from './delivery-site.ts';

/** What fails for good takes room for so many publishes, and more of them than that are sent. */
const ROOM = 30;
const PUBLISHES = 80;

/** A small publish counts as this much. */
const BYTES = 512;

const LONG_MS = 120_000;

const WEB_FULL = { act: 'answer', status: 507 } as const;

let site: DeliverySite;
beforeAll(async () => {
  site = await DeliverySite.start({
    crowds: [
      { fcm: 1, web: 3 },
      { fcm: 1, web: 5 },
      { fcm: 1, apns: 1 },
    ],
    instanceSettings: { limits: { publishesPerSecond: 0, pendingPublishBytes: ROOM * BYTES } },
    areTrusted: true,
  });
}, LONG_MS);
afterAll(() => site[Symbol.asyncDispose]());

/** Publishes to a platform in trouble and to Android in turn. Returns the ids; all must be accepted. */
async function publishToBoth(instance: SiteInstance, troubled: Platform) {
  const ids: { readonly bad: string[]; readonly good: string[] } = { bad: [], good: [] };
  for (let done = 0; done < PUBLISHES; done++) {
    const [bad, good] = await Promise.all([
      site.publish(instance, newsFor(troubled)),
      site.publish(instance, newsFor('fcm')),
    ]);
    ids.bad.push(bad);
    ids.good.push(good);
  }
  return ids;
}

async function expectGoodDelivered(instance: SiteInstance, ids: readonly string[]) {
  const { fcm } = instance.devices;
  for (const id of ids) {
    expect(await site.finished(instance, id)).toMatchObject({
      platforms: { fcm: allAccepted(fcm) },
    });
  }
}

const hasGivenWay = ({ reasons }: SiteStatus) => reasons.some(({ reason }) => reason === GAVE_WAY);

/** The publishes that have not given way are as many as there is room for, and the newest is one of them. */
async function expectFewLeft(instance: SiteInstance, ids: readonly string[]): Promise<void> {
  const statuses = await Promise.all(ids.map((id) => site.status(instance, id)));
  const left = new Set(ids.filter((_, place) => statuses[place]?.state !== 'finished'));
  const gone = statuses.filter(hasGivenWay).length;
  expect(left.size + gone).toBe(PUBLISHES);
  expect(left.size).toBeLessThanOrEqual(ROOM);
  expect(left.size).toBeGreaterThan(ROOM / 2);
  expect(left).toContain(ids.at(-1) ?? '');
}

describe('more publishes than limits.pendingPublishBytes holds', () => {
  it(
    'are accepted if one browser fails for good, and reach all other browsers',
    async () => {
      const instance = site.instance(0);
      const [dead, ...others] = instance.devices.web;
      site.web.script.forToken(dead?.address ?? '', WEB_FULL);
      const { bad, good } = await publishToBoth(instance, 'web');
      await expectGoodDelivered(instance, good);
      await expectFewLeft(instance, bad);
      for (const id of bad) {
        const { state, platforms } = await site.becomes(
          instance,
          id,
          (status) => status.platforms.web.accepted === others.length,
        );
        const rest = state === 'finished' ? { expired: 1 } : { retrying: 1 };
        expect(platforms.web).toEqual(
          countsOf({ planned: 1 + others.length, accepted: others.length, ...rest }),
        );
      }
      const explained = await site.explain(instance, bad[0] ?? '', { device: dead ?? failed() });
      expect(explained).toContainEqual(
        expect.objectContaining({
          what: 'expired',
          detail: expect.stringMatching(/^Given up after .*\(gave-way\)/),
        }),
      );
      const line = await site.server.logged(/waited only for failures gave way/);
      expect(JSON.parse(line)).toMatchObject({ instance: instance.id, apns: 0, fcm: 0 });
    },
    LONG_MS,
  );

  it(
    'are accepted if five browsers fail for good, and reach all phones',
    async () => {
      const instance = site.instance(1);
      for (const { address } of instance.devices.web) {
        site.web.script.forToken(address, WEB_FULL);
      }
      const { bad, good } = await publishToBoth(instance, 'web');
      await expectGoodDelivered(instance, good);
      await expectFewLeft(instance, bad);
    },
    LONG_MS,
  );

  it(
    'are accepted if Apple refuses the key, and the newest arrive once it works',
    async () => {
      const instance = site.instance(2);
      const { apns } = instance.devices;
      const reload = async () => {
        const reloaded = site.server.logsNext(/Instances changed/);
        site.server.process.kill('SIGHUP');
        await reloaded;
      };
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      writeSigningKey(instance.keyFile, privateKey);
      await reload();
      const { bad, good } = await publishToBoth(instance, 'apns');
      await expectGoodDelivered(instance, good);
      await expectFewLeft(instance, bad);

      writeSigningKey(instance.keyFile, instance.signingKey);
      await reload();
      for (const id of bad.slice(-ROOM / 3)) {
        const { platforms } = await site.finished(instance, id);
        expect(platforms.apns).toEqual(allAccepted(apns));
      }
    },
    LONG_MS,
  );

  it('are refused if they are not tried yet', async () => {
    const instance = site.instance(0);
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const statuses: number[] = [];
    for (let done = 0; done <= ROOM; done++) {
      const request = instance.requests.publish({ ...newsFor('fcm'), sendAt });
      statuses.push((await requestPush(site.server, request)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });
});

function failed(): never {
  throw new Error('There is no such device');
}
