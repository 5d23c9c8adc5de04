import { isGiven, type JsonObject, readJsonObjectText } from '../../runtime/json-object.ts';
import { findOversize, findOversizeText, type MeasuredFor } from '../messages/sizes.ts';
import { apnsAudience } from '../model/apns-push-types.ts';
import { platforms } from '../model/device.ts';
import { INTEREST_LENGTH_MAX, isInterest } from '../model/interest.ts';
import { firstInstantOf, type LocalTime } from '../model/local-time.ts';
import type { PublishRequest, PublishTarget } from '../model/publish.ts';
import { readUserId } from '../model/user-id.ts';
import { readPayloads } from '../payloads/payloads.ts';
import { FieldFault, PushRefusal, refuseField } from '../refusal.ts';
import { withExactData } from './exact-data.ts';
import { type LiveRules, readLive } from './live.ts';
import { readPerSecondField } from './per-second.ts';
import { readSendAt } from './send-at.ts';
import { readSendAtLocal } from './send-at-local.ts';
import { bodyToKeep } from './stored-body.ts';
import { readTexts } from './texts.ts';

type Kind = PublishTarget['kind'];

/** The limit of names in a publish, including duplicates. Source: seed, "Limits". */
const namesMax: Readonly<Record<Kind, number>> = { interests: 100, users: 1000 };

const WEBHOOK_URL_LENGTH_MAX = 2048;

/** Stricter than the URL parser, which repairs blanks, slashes and lone surrogates. */
const WEBHOOK_URL = /^https?:\/\/[^/\\?#\s\p{Cc}\p{Cs}][^\s\p{Cc}\p{Cs}]*$/iu;

/** What a publish is read for. */
export interface PublishContext extends MeasuredFor {
  readonly nowMs: number;
  /** What the app of the instance allows; `undefined`: the instance has no app. */
  readonly liveRules?: LiveRules | undefined;
}

/**
 * Reads the body of a publish. Ignores undocumented fields and those of the other kind of publish. Refuses what no
 * gateway could deliver, while the backend can still see the error.
 */
export function readPublishRequest(
  kind: Kind,
  body: Uint8Array,
  context: PublishContext,
): PublishRequest | PushRefusal {
  const read = readJsonObjectText(body);
  if (read === undefined) {
    return new PushRefusal('bad-request', 'The body cannot be read as a JSON object');
  }
  const fields = withExactData(read.object, read.text);
  const request = readFields(kind, fields, body.length, context);
  return request instanceof FieldFault
    ? refuseField('unprocessable', request)
    : { ...request, body: bodyToKeep(kind, fields, read.text) };
}

function readFields(
  kind: Kind,
  fields: JsonObject,
  bodyBytes: number,
  context: PublishContext,
): Omit<PublishRequest, 'body'> | FieldFault {
  const target = readNewTarget(kind, fields);
  if (target instanceof FieldFault) return target;
  const payloads = readPayloads(fields);
  if (payloads instanceof FieldFault) return payloads;
  const { nowMs, liveRules } = context;
  const oversize = findOversize(payloads, context, bodyBytes);
  if (oversize !== undefined) return oversize;
  const texts = readTexts(fields['texts']);
  if (texts instanceof FieldFault) return texts;
  const oversizeText = findOversizeText(payloads, texts.texts, context, bodyBytes);
  if (oversizeText !== undefined) return oversizeText;
  const webhook = readWebhookUrl(fields['webhookUrl']);
  if (webhook instanceof FieldFault) return webhook;
  const sendAt = readSendAtField(fields['sendAt'], nowMs);
  if (sendAt instanceof FieldFault) return sendAt;
  const local = readSendAtLocalField(fields, nowMs);
  if (local instanceof FieldFault) return local;
  const urgent = readUrgent(fields['urgent']);
  if (urgent instanceof FieldFault) return urgent;
  const perSecond = readPerSecondField(fields['perSecond']);
  if (perSecond instanceof FieldFault) return perSecond;
  const live = readLive(kind, fields['live'], liveRules);
  if (live instanceof FieldFault) return live;
  return {
    target,
    live: live.live,
    platforms: platforms.filter((platform) => payloads[platform] !== undefined),
    apns: payloads.apns && apnsAudience(payloads.apns.pushType, payloads.apns.aps),
    webhookUrl: webhook.url,
    sendAtMs: sendAt.ms ?? firstAfter(nowMs, local.time),
    languages: texts.texts && [...texts.texts.keys()],
  };
}

/** When its audience is read: as soon as the first device may be due. */
function firstAfter(nowMs: number, local: LocalTime | undefined): number | undefined {
  const firstMs = local && firstInstantOf(local);
  return firstMs !== undefined && firstMs > nowMs ? firstMs : undefined;
}

/** Reads the target of a new publish. Users must be named once, in the hosted service's words; interests need not. */
export function readNewTarget(kind: Kind, fields: JsonObject): PublishTarget | FieldFault {
  const target = readTarget(kind, fields);
  if (target instanceof FieldFault || kind !== 'users') return target;
  const given = fields[kind];
  return Array.isArray(given) && given.length > target.names.length
    ? new FieldFault(kind, 'array items must be unique')
    : target;
}

/** Reads the interests or users that a publish is for from its body, without duplicates. */
export function readTarget(kind: Kind, fields: JsonObject): PublishTarget | FieldFault {
  const names = readNames(kind, fields[kind]);
  return names instanceof FieldFault ? names : { kind, names };
}

function readNames(kind: Kind, value: unknown): readonly string[] | FieldFault {
  if (!isGiven(value)) return new FieldFault(kind, `${kind} is required`);
  if (!Array.isArray(value)) return new FieldFault(kind, 'must be an array of strings');
  const max = namesMax[kind];
  if (value.length === 0) return new FieldFault(kind, 'must have at least one entry');
  if (value.length > max) {
    return new FieldFault(
      kind,
      `has ${value.length} entries: the limit is ${max}, duplicates included`,
    );
  }
  const names = new Set<string>();
  for (const [index, entry] of value.entries()) {
    const name = kind === 'interests' ? readInterest(entry) : readUser(entry);
    if (!name.ok) return new FieldFault(`${kind}.${index}`, name.why);
    names.add(name.text);
  }
  return [...names];
}

type ReadName =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly why: string };

function readInterest(value: unknown): ReadName {
  if (typeof value !== 'string') return { ok: false, why: 'must be a string' };
  if (isInterest(value)) return { ok: true, text: value };
  return {
    ok: false,
    why: `must be 1 to ${INTEREST_LENGTH_MAX} of the letters A to Z and a to z, digits, and _ - = @ , . ;`,
  };
}

function readUser(value: unknown): ReadName {
  const read = readUserId(value);
  return read.ok ? { ok: true, text: read.userId } : { ok: false, why: `the user id ${read.why}` };
}

/** The URL may have a user name and a password. Source: push protocol, §4.4. */
export function readWebhookUrl(value: unknown): { readonly url: string | undefined } | FieldFault {
  if (!isGiven(value)) return { url: undefined };
  const isRight =
    typeof value === 'string' &&
    value.length <= WEBHOOK_URL_LENGTH_MAX &&
    WEBHOOK_URL.test(value) &&
    URL.canParse(value);
  return isRight
    ? { url: value }
    : new FieldFault(
        'webhookUrl',
        `must be an absolute http or https URL of at most ${WEBHOOK_URL_LENGTH_MAX} characters`,
      );
}

/** Reads when to send it. */
export function readSendAtField(
  value: unknown,
  nowMs: number,
): { readonly ms: number | undefined } | FieldFault {
  if (!isGiven(value)) return { ms: undefined };
  const read = readSendAt(value, nowMs);
  return read.ok ? { ms: read.sendAtMs } : new FieldFault('sendAt', read.why);
}

/** Reads the time by the clock of each device. */
export function readSendAtLocalField(
  { sendAtLocal, sendAt, live }: JsonObject,
  nowMs: number,
): { readonly time: LocalTime | undefined } | FieldFault {
  return readSendAtLocal(sendAtLocal, { sendAt, live }, nowMs);
}

/** Reads whether it passes quiet hours and caps. */
export function readUrgent(value: unknown): { readonly isUrgent: boolean } | FieldFault {
  if (!isGiven(value)) return { isUrgent: false };
  return typeof value === 'boolean'
    ? { isUrgent: value }
    : new FieldFault('urgent', 'must be true or false');
}
