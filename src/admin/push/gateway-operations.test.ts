import { expect, it } from 'bun:test';
import type { Platform } from '../../push/model/device.ts';
import type { Admin } from '../admin.ts';
import type { PausedRoute, SaidByGateway } from '../monitoring/monitoring.ts';
import type { Call } from '../operation.ts';
import { gatewayOperations } from './gateway-operations.ts';

const pause = (more: Partial<PausedRoute>): PausedRoute => ({
  platform: 'web',
  origin: 'https://push.example',
  why: 'gateway',
  reason: 'http-503',
  words: 'busy',
  sinceMs: 7,
  ...more,
});

/** Of a gateway that has said nothing yet. */
const NOTHING = { acceptedAtMs: null, refusal: null };

async function gatewaysWith(
  paused: readonly PausedRoute[],
  said: Partial<Record<Platform, SaidByGateway>> = {},
) {
  const admin = {
    instances: { get: async (id: string) => ({ tenant: { id, fcm: {}, web: {} } }) },
    monitoring: {
      pauses: (id: string) => (id === 'a-b' ? paused : []),
      saidLast: (_: string, platform: Platform) => said[platform] ?? {},
    },
  };
  const call = { path: { id: 'A-B' }, query: {}, body: undefined };
  const [listGateways] = gatewayOperations;
  if (listGateways === undefined) throw new Error('There is no such operation');
  const { body } = await listGateways.run(admin as unknown as Admin, call as unknown as Call);
  return (body as { gateways: readonly object[] }).gateways;
}

it('shows the pauses of each gateway with advice', async () => {
  const refused = pause({
    platform: 'fcm',
    origin: undefined,
    why: 'credential',
    reason: 'http-401',
    words: 'no',
    isUnproven: true,
  });
  expect(await gatewaysWith([refused])).toEqual([
    { platform: 'apns', configured: false, pauses: [], morePauses: 0, ...NOTHING },
    {
      platform: 'fcm',
      configured: true,
      pauses: [
        {
          origin: null,
          cause: 'credential',
          reason: 'http-401',
          words: 'no',
          why: expect.any(String),
          advice: expect.any(String),
          unproven: true,
          sinceMs: 7,
        },
      ],
      morePauses: 0,
      ...NOTHING,
    },
    { platform: 'web', configured: true, pauses: [], morePauses: 0, ...NOTHING },
  ]);
});

it('shows 20 push services of browsers at most', async () => {
  const paused = Array.from({ length: 50 }, (_, n) => pause({ origin: `https://${n}.example` }));
  const [, , web] = await gatewaysWith(paused);
  expect(web).toMatchObject({ platform: 'web', morePauses: 30 });
  expect((web as { pauses: unknown[] }).pauses).toHaveLength(20);
});

it('shows what each gateway said last, with advice', async () => {
  const refusal = { atMs: 8.4, reason: 'InvalidProviderToken', words: '' };
  const [apns, fcm] = await gatewaysWith([], { apns: { acceptedAtMs: 7.2, refusal } });
  expect(apns).toMatchObject({
    acceptedAtMs: 7,
    refusal: {
      atMs: 8,
      reason: 'InvalidProviderToken',
      advice: expect.stringContaining('apns.keyId'),
    },
  });
  expect(fcm).toMatchObject(NOTHING);
});
