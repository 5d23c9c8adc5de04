import { z } from 'zod';
import { adviceOn } from '../../push/explain/advice.ts';
import { type Operation, operation } from '../operation.ts';
import { onTenant } from '../tenant-shapes.ts';

/** Pauses of one gateway that are shown: devices of browsers name any number of push services. */
const PAUSES_MAX = 20;

const PLATFORMS = ['apns', 'fcm', 'web'] as const;

/** The operation that shows whether gateways can be reached. */
export const gatewayOperations: readonly Operation[] = [
  operation({
    ...onTenant(
      z.strictObject({
        gateways: z.array(
          z.strictObject({
            platform: z.enum(PLATFORMS),
            configured: z.boolean().describe('Whether the instance has a credential for it.'),
            pauses: z
              .array(
                z.strictObject({
                  origin: z.string().nullable().describe('The push service of browsers.'),
                  cause: z
                    .enum(['gateway', 'credential'])
                    .describe('gateway: it fails; credential: it refuses that of the instance.'),
                  reason: z.string(),
                  words: z.string().describe('What the gateway said.'),
                  why: z.string(),
                  advice: z.string().nullable(),
                  unproven: z
                    .boolean()
                    .describe('No device was ever reached, so all of them may be fakes.'),
                  sinceMs: z.int().min(0).describe('Milliseconds since 1970.'),
                }),
              )
              .describe(`Why this server sends it little or nothing now. Up to ${PAUSES_MAX}.`),
            morePauses: z.int().min(0),
          }),
        ),
      }),
    ),
    id: 'listGateways',
    role: 'viewer',
    method: 'GET',
    path: '/instances/{id}/gateways',
    summary:
      'Show the gateways of a push instance: whether it has a credential, and why this server has paused them.',
    act: async ({ instances, monitoring }, { path }) => {
      const { tenant: instance } = await instances.get(path('id').toLowerCase());
      const paused = monitoring.pauses(instance.id);
      return {
        gateways: PLATFORMS.map((platform) => {
          const pauses = paused.filter((one) => one.platform === platform);
          return {
            platform,
            configured: instance[platform] !== undefined,
            pauses: pauses.slice(0, PAUSES_MAX).map(({ origin, reason, words, ...one }) => {
              const { why, advice } = adviceOn({ platform, reason, words });
              return {
                origin: origin ?? null,
                cause: one.why,
                reason,
                words: words.slice(0, 500),
                why,
                advice: advice ?? null,
                unproven: one.isUnproven === true,
                sinceMs: Math.round(one.sinceMs),
              };
            }),
            morePauses: Math.max(0, pauses.length - PAUSES_MAX),
          };
        }),
      };
    },
  }),
];
