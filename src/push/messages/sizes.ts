import type { Platform } from '../model/device.ts';
import { NIL_PUBLISH_ID } from '../model/publish-id.ts';
import type { Texts } from '../model/texts.ts';
import type { ApnsPayload } from '../payloads/apns.ts';
import type { FcmPayload } from '../payloads/fcm.ts';
import { withText } from '../payloads/localised.ts';
import type { Payloads } from '../payloads/payloads.ts';
import type { WebPayload } from '../payloads/web.ts';
import { FieldFault } from '../refusal.ts';
import { APNS_MESSAGE_BYTES_MAX, apnsBytesMax, apnsMessage } from './apns-message.ts';
import { declarativeBytes } from './declarative-message.ts';
import { FCM_MESSAGE_BYTES_MAX, fcmMessage, fcmMessageBytes } from './fcm-message.ts';
import { nestsDeeperThan } from './nesting.ts';
import type { Tracking } from './tracking.ts';
import { WEB_MESSAGE_BYTES_MAX, webMessage } from './web-message.ts';

/** More than the server adds to any message. */
const ADDED_BYTES = 500;

/** JSON grows less than this when it is parsed and written again: `1e20,` becomes 22 characters. */
const GROWTH = 5;

/** A message from a body of this size cannot be too large. */
const SMALL_BODY_BYTES =
  (Math.min(WEB_MESSAGE_BYTES_MAX, APNS_MESSAGE_BYTES_MAX, FCM_MESSAGE_BYTES_MAX) - ADDED_BYTES) /
  GROWTH;

/** A message of the largest size cannot be nested deeper: each level takes two brackets. */
const LEVELS_MAX = APNS_MESSAGE_BYTES_MAX / 2;

/** Any time of this century has as many digits. */
const SOME_TIME_MS = Date.UTC(2026, 0);

/** The instance of a publish, as far as it changes the size of messages. */
export interface MeasuredFor {
  readonly instanceId: string;
  /** Whether its messages for Safari are declarative if a publish does not say. */
  readonly declarative?: boolean | undefined;
}

/**
 * Finds a message that would be too large for its gateway with the server's additions. Builds and measures messages only
 * if the body is not small.
 */
export function findOversize(
  { apns, fcm, web }: Payloads,
  { instanceId, declarative = false }: MeasuredFor,
  bodyBytes: number,
): FieldFault | undefined {
  const tracking = { instanceId, publishId: NIL_PUBLISH_ID };
  // It has the data twice and a link in each button, so a small body can make a large one.
  if (web && (web.declarative ?? declarative)) {
    const measure = () => declarativeBytes(web, tracking);
    const fault = refuseSize('web', web, WEB_MESSAGE_BYTES_MAX, measure);
    if (fault !== undefined) return fault;
  }
  if (bodyBytes <= SMALL_BODY_BYTES) return undefined;
  return (
    (apns && refuseSize('apns', apns, apnsBytesMax(apns), () => apnsBytes(apns, tracking))) ??
    (fcm && refuseSize('fcm', fcm, FCM_MESSAGE_BYTES_MAX, () => fcmBytes(fcm, tracking))) ??
    (web && refuseSize('web', web, WEB_MESSAGE_BYTES_MAX, () => webBytes(web, tracking)))
  );
}

/** Finds a message that would be too large with one of the texts. */
export function findOversizeText(
  payloads: Payloads,
  texts: Texts | undefined,
  measuredFor: MeasuredFor,
  bodyBytes: number,
): FieldFault | undefined {
  for (const [language, text] of texts ?? []) {
    const fault = findOversize(withText(payloads, text), measuredFor, bodyBytes);
    if (fault !== undefined) {
      return new FieldFault(`texts.${language}`, `${fault.field}: ${fault.reason}`);
    }
  }
  return undefined;
}

function apnsBytes(payload: ApnsPayload, tracking: Tracking): number {
  return Buffer.byteLength(apnsMessage(payload, { ...tracking, acceptedAtMs: SOME_TIME_MS }).body);
}

function fcmBytes(payload: FcmPayload, tracking: Tracking): number {
  return fcmMessageBytes(fcmMessage(payload, tracking).message);
}

function webBytes(payload: WebPayload, tracking: Tracking): number {
  return Buffer.byteLength(webMessage(payload, tracking));
}

function refuseSize(
  platform: Platform,
  payload: ApnsPayload | FcmPayload | WebPayload,
  bytesMax: number,
  measure: () => number,
): FieldFault | undefined {
  // `JSON.stringify` would need half a second to overflow the stack.
  if (nestsDeeperThan(payload, LEVELS_MAX)) {
    return new FieldFault(platform, `nests deeper than any message of ${bytesMax} bytes`);
  }
  const bytes = measure();
  return bytes <= bytesMax
    ? undefined
    : new FieldFault(
        platform,
        `the message has ${bytes} bytes, including what the server adds: the limit is ${bytesMax}`,
      );
}
