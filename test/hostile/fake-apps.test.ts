import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { apnsRefusal } from '../../src/fake-gateways/apns/fake-apns.ts';
import { fcmRefusal } from '../../src/fake-gateways/fcm/fake-fcm.ts';
import type { Act } from '../../src/fake-gateways/script.ts';
import { runs } from '../../testing/long-run.ts';
import {
  allAccepted,
  type Crowd,
  countsOf,
  DeliverySite,
  newsFor,
} from '../failure/push/delivery-site.ts';

const LONG_MS = 180_000;

/** Waits an hour for a gateway that does not answer. */
const PATIENT = join(import.meta.dir, 'patient-server.fixture.ts');

const FAKES = 150;
const HONEST = 20;

/** Publishes beside fakes after the first one. */
const ROUNDS = runs(1, 2);

type Phone = 'apns' | 'fcm';

const peace = { 'retry-after': '900' };

/** Answers of Apple and Google for tokens that an attacker registered. */
const evils: Readonly<Record<Phone, Readonly<Record<string, Act>>>> = {
  apns: {
    'that the credential is wrong': apnsRefusal(403, 'InvalidProviderToken'),
    'that it wants to be left alone': apnsRefusal(503, 'ServiceUnavailable', peace),
    'that the device gets too much': apnsRefusal(429, 'TooManyRequests', peace),
    'that the token is unknown': apnsRefusal(400, 'BadDeviceToken'),
    'with nothing, ever': { act: 'hang' },
  },
  fcm: {
    'that the credential is wrong': fcmRefusal(403, 'PERMISSION_DENIED'),
    'that it wants to be left alone': fcmRefusal(503, 'UNAVAILABLE', peace),
    'that the project sends too much': fcmRefusal(429, 'QUOTA_EXCEEDED', peace),
    'with nothing, ever': { act: 'hang' },
    'that the token is of another project': fcmRefusal(403, 'SENDER_ID_MISMATCH'),
  },
};

/**
 * APNs must answer the first request on a new connection before others are sent. With Apple, no device can delay that
 * answer, so fakes hang only after the first publish. During the first publish they get this answer.
 */
const busyApple = apnsRefusal(429, 'TooManyRequests');

const phones = ['apns', 'fcm'] as const;

const cases = phones.flatMap((platform) =>
  Object.entries(evils[platform]).map(([what, act]) => ({ platform, what, act })),
);

/** The last instances of a site, which have no fakes: one for each platform. */
const QUIET: readonly Crowd[] = phones.map((platform) => ({ [platform]: HONEST }));

describe.each([
  { name: 'gateways that answer', isHanging: false },
  { name: 'gateways that never answer', isHanging: true },
])('$name', ({ isHanging }) => {
  /** Each attacks an instance of its own. */
  const attacks = cases.filter(({ act }) => (act.act === 'hang') === isHanging);
  let site: DeliverySite;
  beforeAll(async () => {
    site = await DeliverySite.start({
      crowds: [...attacks.map(({ platform }) => ({ [platform]: FAKES + HONEST })), ...QUIET],
      ...(isHanging && { program: PATIENT }),
    });
  }, LONG_MS);
  afterAll(() => site[Symbol.asyncDispose]());

  it.each(attacks.map((attack, place) => ({ ...attack, place })))(
    'reach all honest devices: $platform, which answers for fakes $what',
    async ({ platform, act, place }) => {
      const { arrivals, script } = site[platform];
      const attacked = site.instance(place);
      const quiet = site.instance(attacks.length + phones.indexOf(platform));
      const fakes = attacked.devices[platform].slice(0, FAKES);
      // The first publish may take longer, since no device was accepted before.
      const atFirst = platform === 'apns' && act.act === 'hang' ? busyApple : act;
      for (const { address } of fakes) script.forToken(address, atFirst);
      const first = await site.publish(attacked, newsFor(platform));
      await site.becomes(
        attacked,
        first,
        ({ platforms }) => platforms[platform].accepted === HONEST,
      );
      for (const { address } of fakes) script.forToken(address, act);
      const witnessesSinceMs = Date.now();
      for (let round = 0; round < ROUNDS; round++) {
        arrivals.clear();
        const [id, theirs] = [
          await site.publish(attacked, newsFor(platform)),
          await site.publish(quiet, newsFor(platform)),
        ];
        await site.becomes(
          attacked,
          id,
          ({ platforms }) => platforms[platform].accepted === HONEST,
        );
        expect(await site.finished(quiet, theirs)).toMatchObject({
          platforms: { [platform]: allAccepted(quiet.devices[platform]) },
        });
        const taken = arrivals.list().filter(({ status }) => status === 200);
        expect(taken).toHaveLength(2 * HONEST);
      }
      const pausedAtMs = site.server.output.stderr
        .split('\n')
        .filter((line) => /Gateway (fails|refuses)/.test(line))
        .map((line) => JSON.parse(line))
        .filter(({ instance }) => instance === attacked.id || instance === quiet.id)
        .map(({ time }) => Date.parse(time));
      expect(pausedAtMs.filter((atMs) => atMs >= witnessesSinceMs)).toEqual([]);
    },
    LONG_MS,
  );
});

describe.each(['apns', 'fcm'] as const)('%s', (platform) => {
  it(
    'removes no device and delivers all when a credential that is wrong was mended, with fakes among them',
    async () => {
      await using site = await DeliverySite.start({ crowds: [{ [platform]: 60 }] });
      const { script } = site[platform];
      const instance = site.instance(0);
      const devices = instance.devices[platform];
      const [fakes, honest] = [devices.slice(0, 30), devices.slice(30)];
      const wrong = Object.values(evils[platform])[0];
      if (wrong === undefined) throw new Error('There is nothing wrong');
      for (const { address } of fakes) script.forToken(address, wrong);
      const warm = await site.publish(instance, newsFor(platform));
      const isReached = (status: { platforms: Record<Phone, { accepted: number }> }) =>
        status.platforms[platform].accepted === honest.length;
      await site.becomes(instance, warm, isReached);
      for (const { address } of honest) script.forToken(address, wrong);
      const id = await site.publish(instance, newsFor(platform));
      const said = await site.server.logged(/Gateway refuses the credential: devices wait/);
      expect(JSON.parse(said)).toMatchObject({ level: 'warn', platform });
      script.clear();
      for (const { address } of fakes) script.forToken(address, wrong);
      await site.becomes(instance, id, isReached);
      expect(await site.finished(instance, id)).toMatchObject({
        platforms: {
          [platform]: countsOf({ planned: 60, accepted: honest.length, failed: fakes.length }),
        },
      });
    },
    LONG_MS,
  );
});
