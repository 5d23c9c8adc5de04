import { createECDH, randomBytes } from 'node:crypto';
import type { InstanceSettings } from '../../../config/schema.ts';
import type { AnyGateway } from '../../../push/delivering/routes/prepared-publish.ts';
import type { Deliver, Outcome } from '../../../push/gateway.ts';
import type { DeviceId, Platform, Recipient } from '../../../push/model/device.ts';
import { NIL_PUBLISH_ID } from '../../../push/model/publish-id.ts';
import { readPayloads } from '../../../push/payloads/payloads.ts';
import { FieldFault } from '../../../push/refusal.ts';
import type { Timers } from '../../../runtime/ports.ts';

/** A gateway's answer to a message for a device that does not exist. */
export interface AskedGateway {
  /** The push service of the browser. */
  readonly origin: string | undefined;
  readonly outcome: Outcome;
  readonly durationMs: number;
}

/** The timeout of a check. The dashboard waits a little longer. */
const ANSWER_MS = 10_000;

/** The limit of push services to check. */
const SERVICES_MAX = 4;

/** Has the form of an Apple device token, and belongs to no device. */
const APNS_TOKEN = '0'.repeat(64);

/** The topic of no app. Apple checks the key first. */
const BUNDLE_ID = 'fanfare.check';

const SILENT: Outcome = {
  result: 'try-again',
  reason: 'no-answer',
  afterMs: undefined,
  scope: 'connection',
};

/**
 * Checks whether a gateway accepts the credential of an instance. Sends a message for a device that does not exist,
 * so nobody receives it: gateways check the credential first. FCM is also asked to validate only.
 */
export async function askGateway(
  gateway: AnyGateway,
  { id, web }: InstanceSettings,
  timers: Timers,
): Promise<readonly AskedGateway[]> {
  const deliver = prepare(gateway, {
    instanceId: id,
    publishId: NIL_PUBLISH_ID,
    acceptedAtMs: timers.now(),
  });
  const origins = gateway.platform === 'web' ? originsOf(web) : [undefined];
  return await Promise.all(
    origins.map(async (origin) => {
      const startMs = timers.now();
      const outcome = await inTime(deliver(nobody(gateway.platform, origin)), timers);
      return { origin, outcome, durationMs: Math.max(0, Math.round(timers.now() - startMs)) };
    }),
  );
}

function prepare(
  gateway: AnyGateway,
  about: Omit<Parameters<AnyGateway['prepare']>[0], 'payload'>,
): Deliver {
  const payloads = readPayloads({
    apns: { aps: { 'content-available': 1 }, pusher: { disable_delivery_tracking: true } },
    fcm: { data: {}, dry_run: true },
    web: { time_to_live: 0 },
  });
  if (payloads instanceof FieldFault) throw new Error(payloads.reason);
  const { apns, fcm, web } = payloads;
  if (gateway.platform === 'apns' && apns) return gateway.prepare({ ...about, payload: apns });
  if (gateway.platform === 'fcm' && fcm) return gateway.prepare({ ...about, payload: fcm });
  if (gateway.platform === 'web' && web) return gateway.prepare({ ...about, payload: web });
  throw new Error('There is a payload for each platform');
}

function nobody(platform: Platform, origin: string | undefined): Recipient {
  return {
    number: 0,
    id: `${platform}-check` as DeviceId,
    platform,
    token: tokenOf(platform, origin),
    bundleId: BUNDLE_ID,
    userId: undefined,
    seenAtMs: 0,
    isTrusted: false,
  };
}

function tokenOf(platform: Platform, origin: string | undefined): string {
  if (platform === 'apns') return APNS_TOKEN;
  return platform === 'fcm' ? 'check' : subscription(origin);
}

function subscription(origin = ''): string {
  const browser = createECDH('prime256v1');
  const p256dh = browser.generateKeys('base64url');
  const keys = { p256dh, auth: randomBytes(16).toString('base64url') };
  return JSON.stringify({ endpoint: `${origin}/fanfare-check`, keys });
}

/** The push services in the settings whose name has no wildcard. */
function originsOf(web: InstanceSettings['web']): readonly string[] {
  const { allowedHosts = [] } = web ?? {};
  const named = allowedHosts.filter((host) => !host.startsWith('*'));
  return named.slice(0, SERVICES_MAX).map((host) => `https://${host}`);
}

async function inTime(answer: Promise<Outcome>, timers: Timers): Promise<Outcome> {
  const late = Promise.withResolvers<Outcome>();
  const cancel = timers.after(ANSWER_MS, () => late.resolve(SILENT));
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    cancel();
  }
}
