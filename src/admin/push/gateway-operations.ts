import { z } from 'zod';
import type { InstanceSettings } from '../../config/schema.ts';
import { instanceSettings } from '../../config/settings/push-settings.ts';
import type { LastOutcomes } from '../../push/delivering/ports.ts';
import { type Platform, platforms } from '../../push/model/device.ts';
import { checked } from '../../tenants/checked.ts';
import { merged } from '../../tenants/merged.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { servers } from '../channels/server-shapes.ts';
import { type Operation, operation } from '../operation.ts';
import { hasRole } from '../rights.ts';
import { onTenant } from '../tenant-shapes.ts';
import { devicePlatform } from './device-shapes.ts';
import { explain, explained, PAUSES_MAX, pauseFields, showPause } from './pause-shapes.ts';

const moment = z.int().min(0).nullable();

const apns = instanceSettings.shape.apns.unwrap().shape;
const fcm = instanceSettings.shape.fcm.unwrap().shape;

/**
 * The settings that a trial may contain. Addresses and files are always those in use, so that a trial cannot be used
 * to explore the network or the disk.
 */
const triedApns = z
  .strictObject({
    teamId: apns.teamId,
    keyId: apns.keyId,
    privateKey: apns.privateKey.unwrap(),
    environment: apns.environment.unwrap().optional(),
  })
  .optional();
const triedFcm = z.strictObject({ serviceAccount: fcm.serviceAccount.unwrap() }).optional();

/** The operations that show whether gateways can be reached. */
export const gatewayOperations: readonly Operation[] = [
  operation({
    ...onTenant(
      z.strictObject({
        servers,
        gateways: z.array(
          z
            .strictObject({
              platform: devicePlatform,
              configured: z.boolean().describe('Whether the instance has a credential for it.'),
              pauses: z
                .array(
                  z
                    .strictObject({
                      ...pauseFields,
                      unproven: z
                        .boolean()
                        .describe(
                          'No device was ever accepted by the gateway, so all of them may be fake.',
                        ),
                    })
                    .meta({ id: 'GatewayPause' }),
                )
                .describe(`Why servers send it little or nothing now. Up to ${PAUSES_MAX}.`),
              morePauses: z.int().min(0).describe('The number of others, at least.'),
              acceptedAtMs: moment.describe('When it last accepted a message of a server.'),
              refusal: z
                .strictObject({ atMs: z.int().min(0), ...explained })
                .nullable()
                .describe('Its answer when it last refused the credential, or failed.'),
            })
            .meta({ id: 'Gateway' }),
        ),
      }),
    ),
    id: 'listGateways',
    role: 'viewer',
    method: 'GET',
    path: '/instances/{id}/gateways',
    summary:
      'Show the gateways of a push instance: whether it has a credential, and why servers have paused them.',
    act: async ({ instances, ask }, { instanceId }) => {
      const { tenant: instance } = await instances.get(instanceId());
      const asked = await ask.everywhere('gateways', { instanceId: instance.id });
      const { answer: known } = asked;
      return {
        servers: asked.servers,
        gateways: platforms.map((platform) => {
          const pauses = known.pauses.filter((one) => one.platform === platform);
          return {
            platform,
            configured: instance[platform] !== undefined,
            pauses: pauses
              .slice(0, PAUSES_MAX)
              .map((one) => ({ ...showPause(one), unproven: one.isUnproven === true })),
            morePauses: Math.max(0, pauses.length - PAUSES_MAX) + known.morePauses[platform],
            ...lastOf(known.said[platform], platform),
          };
        }),
      };
    },
  }),
  operation({
    ...onTenant(
      z.strictObject({
        answers: z
          .array(
            z
              .strictObject({
                origin: z.string().nullable().describe('The push service of browsers.'),
                result: z
                  .enum(['accepted', 'refused', 'silent'])
                  .describe(
                    'accepted: it takes the credential; refused: it does not; silent: no answer, or trouble of its own.',
                  ),
                ...explained,
                durationMs: z.int().min(0),
              })
              .meta({ id: 'GatewayAnswer' }),
          )
          .describe('One of each gateway that was asked: several of browsers, if they are named.'),
      }),
    ),
    id: 'checkGateway',
    role: 'operator',
    method: 'POST',
    path: '/instances/{id}/gateways/check',
    summary:
      'Ask a gateway whether it takes the credential of a push instance, with a message that no device gets. Another credential can be tried before it is kept, which takes the role admin.',
    body: z
      .strictObject({ platform: devicePlatform, apns: triedApns, fcm: triedFcm })
      .meta({ id: 'GatewayCheck' }),
    refusals: ['not-found', 'conflict', 'over-limit'],
    act: async ({ instances, composing }, { instanceId, body, rights }) => {
      const { tenant: kept } = await instances.get(instanceId());
      const { platform, ...tried } = body;
      const isTrial = tried.apns !== undefined || tried.fcm !== undefined;
      if (isTrial && !hasRole(rights.role, 'admin')) {
        throw new OperationRefused('forbidden', 'Trying another credential takes the role admin');
      }
      const instance = isTrial ? withTried(kept, tried) : kept;
      const answers = await composing.check(instance, { platform, isTrial });
      return {
        answers: answers.map(({ origin, result, reason, words, durationMs }) => ({
          origin: origin ?? null,
          result,
          ...explain(platform, { reason: result === 'accepted' ? '' : reason, words }),
          durationMs,
        })),
      };
    },
  }),
];

/** The settings of an instance with another credential in the place of its own. */
function withTried(
  instance: InstanceSettings,
  { apns, fcm }: { readonly apns?: object | undefined; readonly fcm?: object | undefined },
): InstanceSettings {
  const change = {
    ...(apns === undefined ? {} : { apns: { privateKeyFile: null, ...apns } }),
    ...(fcm === undefined ? {} : { fcm: { serviceAccountFile: null, metadata: null, ...fcm } }),
  };
  return checked(instanceSettings, {
    input: merged(instance, change),
    unknownField: 'unknown setting',
  });
}

function lastOf({ acceptedAtMs, refusal }: LastOutcomes, platform: Platform) {
  return {
    acceptedAtMs: acceptedAtMs === undefined ? null : Math.round(acceptedAtMs),
    refusal:
      refusal === undefined
        ? null
        : { atMs: Math.round(refusal.atMs), ...explain(platform, refusal) },
  };
}
