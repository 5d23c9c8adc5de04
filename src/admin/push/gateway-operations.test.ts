import { expect, it } from 'bun:test';
import type { Admin } from '../admin.ts';
import type { PausedRoute } from '../monitoring/monitoring.ts';
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

async function gatewaysWith(paused: readonly PausedRoute[]) {
  const admin = {
    instances: { get: async (id: string) => ({ tenant: { id, fcm: {}, web: {} } }) },
    monitoring: { pauses: (id: string) => (id === 'a-b' ? paused : []) },
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
    { platform: 'apns', configured: false, pauses: [], morePauses: 0 },
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
    },
    { platform: 'web', configured: true, pauses: [], morePauses: 0 },
  ]);
});

it('shows 20 push services of browsers at most', async () => {
  const paused = Array.from({ length: 50 }, (_, n) => pause({ origin: `https://${n}.example` }));
  const [, , web] = await gatewaysWith(paused);
  expect(web).toMatchObject({ platform: 'web', morePauses: 30 });
  expect((web as { pauses: unknown[] }).pauses).toHaveLength(20);
});
