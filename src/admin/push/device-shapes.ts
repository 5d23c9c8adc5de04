import { z } from 'zod';
import { platforms } from '../../push/model/device.ts';
import { isInterest } from '../../push/model/interest.ts';
import { deviceKinds } from '../../push/model/token-kind.ts';
import { readUserId } from '../../push/model/user-id.ts';
import type { DeviceFilter, ListedDevice } from '../../stores/push/devices/device-list.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import type { Rights } from '../rights.ts';

export const devicePlatform = z.enum(platforms).meta({ id: 'Platform' });

/** What a device of Apple is, if its token is not the ordinary one of an app. */
export const deviceKind = z.enum(deviceKinds).meta({ id: 'DeviceKind' });

const time = z.iso.datetime({
  offset: true,
  error: 'must be a time such as 2026-11-23T12:00:00Z',
});

export const registeredBefore = time
  .optional()
  .describe('Only devices that registered before this time.');

export const seenBefore = time
  .optional()
  .describe(
    'Only devices that have not registered nor set a token, a user or metadata since this time.',
  );

/** Six digits are shared by one in 16 million devices, so few ids begin with them. */
export const ID_PREFIX = /^(apns|fcm|web)-[\da-fA-F]{6}[\da-fA-F-]{0,30}$/;

export const ID_PREFIX_RULE =
  'must be a device id, or its platform and at least 6 digits, such as fcm-6a47f1';

export const idPrefix = z
  .string()
  .regex(ID_PREFIX, { error: ID_PREFIX_RULE })
  .optional()
  .describe('Only the device with this id, or those whose ids begin with it.');

export const ofUser = z
  .string()
  .refine((text) => readUserId(text).ok, { error: 'must be the id of a user' })
  .optional()
  .describe('Only devices of this user.');

export const ofInterest = z
  .string()
  .refine(isInterest, { error: 'must be the name of an interest' })
  .optional()
  .describe('Only devices that are subscribed to this interest.');

/** The position to continue from, in the order in which devices registered. */
export const afterPlace = z
  .string()
  .regex(/^[1-9]\d{0,15}$/, { error: 'must be the `next` of an earlier response' })
  .optional()
  .describe('Continue an earlier list: its `next`.');

export const nextPlace = z
  .string()
  .nullable()
  .describe('For `after`, to continue; null at the end.');

/** A device as operators see it. Its token is a secret and is not shown. */
export const shownDevice = z
  .strictObject({
    id: z.string().describe('Any client that knows it can change the device.'),
    platform: devicePlatform,
    kind: deviceKind
      .nullable()
      .describe('What its token of Apple’s is for; null: it is the ordinary one of its app.'),
    import: z
      .string()
      .nullable()
      .describe('The import that it is of; null: an SDK has registered it.'),
    userId: z.string().nullable(),
    registeredAt: z.string(),
    seenAt: z
      .string()
      .describe('When the device last registered, or set a token, its user or metadata.'),
    accepted: z.boolean().describe('Whether a gateway has ever accepted its token.'),
    acceptedAt: z
      .string()
      .nullable()
      .describe(
        'When a gateway first accepted it; null if never, or if that was before this was recorded.',
      ),
    pausedUntil: z
      .string()
      .nullable()
      .describe(
        'Until when nothing is sent to it, because its gateway asked for that, or fails for it while others are accepted; null if it may be sent to now. Pauses below 10 s are not shown.',
      ),
    language: z
      .string()
      .nullable()
      .describe('Its language, from the app or a header of its requests; null if unknown.'),
    timeZone: z.string().nullable().describe('Its time zone; null if unknown.'),
    quietHours: z
      .union([z.strictObject({ from: z.string(), to: z.string() }), z.literal('none')])
      .nullable()
      .describe('When it is not to ring, by its local time; null if it says nothing.'),
    metadata: z
      .record(z.string(), z.string())
      .describe('Empty if payloads and personal data are hidden.'),
    client: z.string().describe('The SDK and the browser, as the device reports them.'),
  })
  .describe('One device, without its token.')
  .meta({ id: 'Device' });

export type ShownDevice = z.output<typeof shownDevice>;

export function showDevice(
  device: ListedDevice,
  { seesPayloads }: Pick<Rights, 'seesPayloads'>,
): ShownDevice {
  const {
    id,
    platform,
    kind = null,
    origin = null,
    userId = null,
    isAccepted,
    acceptedAtMs,
    client,
    pause,
  } = device;
  const { language = null, timeZone = null, quietHours = null } = device.preferences;
  const metadata = seesPayloads ? device.metadata : {};
  const isPaused = pause !== undefined && pause.untilMs > Date.now();
  return {
    id,
    platform,
    kind,
    import: origin,
    userId,
    registeredAt: new Date(device.registeredAtMs).toISOString(),
    seenAt: new Date(device.seenAtMs).toISOString(),
    accepted: isAccepted,
    acceptedAt: acceptedAtMs === undefined ? null : new Date(acceptedAtMs).toISOString(),
    pausedUntil: isPaused ? new Date(pause.untilMs).toISOString() : null,
    language,
    timeZone,
    quietHours,
    metadata,
    client,
  };
}

/** The conditions of a request. */
export interface GivenFilter {
  readonly platform?: DeviceFilter['platform'];
  readonly kind?: DeviceFilter['kind'];
  readonly import?: string | undefined;
  readonly neverAccepted?: boolean | undefined;
  readonly registeredBefore?: string | undefined;
  readonly seenBefore?: string | undefined;
  readonly paused?: boolean | undefined;
  readonly id?: string | undefined;
  readonly user?: string | undefined;
  readonly interest?: string | undefined;
}

export function deviceFilter({
  platform,
  kind,
  import: origin,
  neverAccepted = false,
  registeredBefore: registered,
  seenBefore: seen,
  paused = false,
  id,
  user,
  interest,
}: GivenFilter): DeviceFilter {
  return {
    platform,
    kind,
    origin,
    neverAccepted,
    registeredBeforeMs: registered === undefined ? undefined : Date.parse(registered),
    seenBeforeMs: seen === undefined ? undefined : Date.parse(seen),
    pausedAtMs: paused ? Date.now() : undefined,
    idPrefix: id?.toLowerCase(),
    userId: user,
    interest,
  };
}

/** Refuses a filter without a condition, which would remove every device of an instance by mistake. */
export function requireCondition(filter: DeviceFilter): DeviceFilter {
  const { platform, neverAccepted, registeredBeforeMs, seenBeforeMs } = filter;
  if (neverAccepted || [platform, registeredBeforeMs, seenBeforeMs].some((one) => one)) {
    return filter;
  }
  throw new OperationRefused(
    'invalid',
    'at least one of platform, neverAccepted, registeredBefore and seenBefore is required',
  );
}
