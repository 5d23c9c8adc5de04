import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../../testing/fake-time.ts';
import type { Draft } from '../../../admin/push/composing.ts';
import { instanceSettings } from '../../../config/settings/push-settings.ts';
import type { AudienceSource, NumberRange } from '../../../push/audience-source.ts';
import type { DeliveredInstance } from '../../../push/delivering/ports.ts';
import type { AnyGateway } from '../../../push/delivering/routes/prepared-publish.ts';
import type { Outcome } from '../../../push/gateway.ts';
import type { DeviceId } from '../../../push/model/device.ts';
import { pushInstance } from '../../../tenants/push-instance.ts';
import { Composer } from './composer.ts';

const settings = instanceSettings.parse({
  id: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
  secretKeys: ['A'.repeat(64)],
});
const instance = pushInstance(settings, 7);

const fields = { interests: ['a'], web: {} };
const draft: Draft = { kind: 'interests', fields, body: Buffer.from(JSON.stringify(fields)) };

/** An interest with devices of the numbers from 1 on. */
class ManyDevices implements AudienceSource {
  read = 0;
  /** What each read waits for. */
  gate: Promise<void> = Promise.resolve();
  private readonly many: number;

  constructor(many: number) {
    this.many = many;
  }

  async numbers({ after, limit }: NumberRange): Promise<readonly number[]> {
    await this.gate;
    const count = Math.min(limit, this.many - after);
    return Array.from({ length: count }, (_, n) => after + n + 1);
  }

  async recipients(_: number, numbers: readonly number[]) {
    this.read += numbers.length;
    return numbers.map((number) => ({
      number,
      id: `web-${number}` as DeviceId,
      platform: 'web' as const,
      token: '',
      bundleId: undefined,
      userId: undefined,
      seenAtMs: 0,
      isTrusted: true,
    }));
  }
}

const time = new FakeTime();

function composerOf(audience: AudienceSource, gateway?: AnyGateway): Composer {
  return new Composer({
    instances: { byId: () => instance },
    audience,
    caps: { full: async () => new Set(), useOf: async () => undefined },
    accept: () => {
      throw new Error('Nothing is sent');
    },
    gateways: {
      byNumber: () =>
        ({
          id: settings.id,
          gateways: { apns: undefined, web: undefined, fcm: gateway },
        }) as DeliveredInstance,
      openTrial: () => undefined,
    },
    live: { rulesOf: () => undefined, preview: async () => undefined },
    timers: time,
  });
}

const audienceOf = async (composer: Composer) => (await composer.preview(settings, draft)).audience;

describe('the audience of a preview', () => {
  it('is counted up to 10,000 devices, however many there are', async () => {
    const devices = new ManyDevices(1_000_000);
    const platforms = { apns: 0, fcm: 0, web: 10_000 };
    expect(await audienceOf(composerOf(devices))).toEqual({
      devices: 10_000,
      platforms,
      later: 0,
      quiet: 0,
      languages: [],
      overCap: 0,
      tooLate: 0,
      more: true,
    });
    expect(devices.read).toBeLessThanOrEqual(11_000);
    expect(await audienceOf(composerOf(new ManyDevices(10_000)))).toMatchObject({
      devices: 10_000,
      later: 0,
      more: false,
    });
  });

  it('is counted for two callers at the same time, and refused to others', async () => {
    const devices = new ManyDevices(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    devices.gate = promise;
    const composer = composerOf(devices);
    const counted = [audienceOf(composer), audienceOf(composer)];
    await expect(audienceOf(composer)).rejects.toMatchObject({ status: 429 });
    resolve();
    for (const audience of await Promise.all(counted)) expect(audience?.devices).toBe(1);
    expect((await audienceOf(composer))?.devices).toBe(1);
  });
});

/** A gateway of FCM with this outcome for every device. */
function gatewayWith(deliver: () => Promise<Outcome>): AnyGateway {
  return {
    platform: 'fcm',
    atOnce: 1,
    prepare: () => deliver,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const ask = { platform: 'fcm', isTrial: false } as const;

describe('a gateway that is asked about a credential', () => {
  const refused = (reason: string): Outcome => ({ result: 'refused', reason, words: '' });
  it.each([
    // A gateway that refuses the device has accepted the credential.
    [{ result: 'token-gone', reason: 'UNREGISTERED', sinceMs: undefined }, 'accepted'],
    [refused('INVALID_ARGUMENT'), 'accepted'],
    [{ result: 'accepted' }, 'accepted'],
    [{ result: 'not-authorised', reason: 'PERMISSION_DENIED', words: '' }, 'refused'],
    [refused('NOT_FOUND'), 'refused'],
    [refused('address-not-allowed'), 'silent'],
    [{ result: 'try-again', reason: 'http-503', afterMs: undefined, scope: 'gateway' }, 'silent'],
  ] as const)('and answers %j: %s', async (outcome, result) => {
    const composer = composerOf(
      new ManyDevices(0),
      gatewayWith(async () => outcome),
    );
    expect(await composer.check(settings, ask)).toMatchObject([{ origin: undefined, result }]);
  });

  it('is asked once at a time for an instance', async () => {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const composer = composerOf(
      new ManyDevices(0),
      gatewayWith(() => promise),
    );
    const first = composer.check(settings, ask);
    await expect(composer.check(settings, ask)).rejects.toMatchObject({ status: 429 });
    resolve({ result: 'accepted' });
    expect(await first).toMatchObject([{ result: 'accepted' }]);
    expect(await composer.check(settings, ask)).toHaveLength(1);
  });

  it('counts as silent if it has not answered after 10 s', async () => {
    const composer = composerOf(
      new ManyDevices(0),
      gatewayWith(() => new Promise(() => undefined)),
    );
    const answers = composer.check(settings, ask);
    await time.advance(10_000);
    expect(await answers).toMatchObject([
      { result: 'silent', reason: 'no-answer', durationMs: 10_000 },
    ]);
  });
});
