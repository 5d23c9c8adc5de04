import { expect, it } from 'bun:test';
import type { PauseOfCluster } from '../../asking/facts/gateways.ts';
import type { LastOutcomes } from '../../push/delivering/ports.ts';
import type { Platform } from '../../push/model/device.ts';
import type { Admin } from '../admin.ts';
import type { OperationRequest } from '../operation.ts';
import { PathValues } from '../path-values.ts';
import { gatewayOperations } from './gateway-operations.ts';

const pause = (more: Partial<PauseOfCluster>): PauseOfCluster => ({
  platform: 'web',
  origin: 'https://push.example',
  why: 'gateway',
  reason: 'http-503',
  words: 'busy',
  sinceMs: 7,
  servers: ['a'],
  ...more,
});

/** Of a gateway that has not answered yet. */
const NOTHING = { acceptedAtMs: null, refusal: null };

async function gatewaysWith(
  paused: readonly PauseOfCluster[],
  said: Partial<Record<Platform, LastOutcomes>> = {},
  more = 0,
) {
  const admin = {
    instances: { get: async (id: string) => ({ tenant: { id, fcm: {}, web: {} } }) },
    ask: {
      everywhere: async (_what: 'gateways', { instanceId }: { readonly instanceId: string }) => ({
        servers: [{ name: 'a', away: false }],
        answer: {
          pauses: instanceId === 'a-b' ? paused : [],
          morePauses: { apns: 0, fcm: 0, web: more },
          said: { apns: {}, fcm: {}, web: {}, ...said },
        },
      }),
    },
  };
  const [listGateways] = gatewayOperations;
  if (listGateways === undefined) throw new Error('There is no such operation');
  const path = new PathValues(listGateways.path, { id: 'A-B' });
  const call = { path, query: {}, body: undefined };
  const { body } = await listGateways.run(
    admin as unknown as Admin,
    call as unknown as OperationRequest,
  );
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
          servers: ['a'],
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
  const [, , web] = await gatewaysWith(paused, {}, 5);
  expect(web).toMatchObject({ platform: 'web', morePauses: 35 });
  expect((web as { pauses: unknown[] }).pauses).toHaveLength(20);
});

it('shows the last answers of each gateway, with advice', async () => {
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
