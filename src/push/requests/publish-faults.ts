import { isGiven, type JsonObject } from '../../runtime/json-object.ts';
import { findOversize, findOversizeText } from '../messages/sizes.ts';
import { type Platform, platforms } from '../model/device.ts';
import type { LiveRequest } from '../model/live.ts';
import type { LocalTime } from '../model/local-time.ts';
import type { PublishTarget } from '../model/publish.ts';
import type { Texts } from '../model/texts.ts';
import { type Payloads, readPayloads } from '../payloads/payloads.ts';
import { FieldFault } from '../refusal.ts';
import { readLive } from './live.ts';
import { readPerSecondField } from './per-second.ts';
import {
  type PublishContext,
  readNewTarget,
  readSendAtField,
  readSendAtLocalField,
  readUrgent,
  readWebhookUrl,
} from './publish-request.ts';
import { readTexts } from './texts.ts';

/** The parts of a publish, each read alone. */
export interface ReadDraft {
  /** One for each part that breaks a rule. */
  readonly faults: readonly FieldFault[];
  readonly target: PublishTarget | undefined;
  /** The payloads that break no rule but that of their size. */
  readonly payloads: Payloads;
  readonly texts: Texts | undefined;
  readonly sendAtMs: number | undefined;
  readonly sendAtLocal: LocalTime | undefined;
  readonly isUrgent: boolean;
  readonly live: LiveRequest | undefined;
}

/** Reads a publish for the person who writes it: unlike `readPublishRequest`, it does not end at the first fault. */
export function readDraft(
  kind: PublishTarget['kind'],
  fields: JsonObject,
  context: PublishContext & { readonly bodyBytes: number },
): ReadDraft {
  const faults: FieldFault[] = [];
  const kept = <Value>(read: Value | FieldFault): Value | undefined => {
    if (!(read instanceof FieldFault)) return read;
    faults.push(read);
    return undefined;
  };
  const target = kept(readNewTarget(kind, fields));
  const payloads: { -readonly [P in Platform]: Payloads[P] } = {
    apns: undefined,
    fcm: undefined,
    web: undefined,
  };
  const given = platforms.filter((platform) => isGiven(fields[platform]));
  if (given.length === 0) kept(readPayloads({}));
  for (const platform of given) {
    const read = kept(readPayloads({ [platform]: fields[platform] }));
    if (read === undefined) continue;
    const oversize = findOversize(read, context, context.bodyBytes);
    if (oversize !== undefined) faults.push(oversize);
    Object.assign(payloads, { [platform]: read[platform] });
  }
  const texts = kept(readTexts(fields['texts']))?.texts;
  const oversizeText = findOversizeText(payloads, texts, context, context.bodyBytes);
  if (oversizeText !== undefined) faults.push(oversizeText);
  kept(readWebhookUrl(fields['webhookUrl']));
  const sendAtMs = kept(readSendAtField(fields['sendAt'], context.nowMs))?.ms;
  const sendAtLocal = kept(readSendAtLocalField(fields, context.nowMs))?.time;
  const isUrgent = kept(readUrgent(fields['urgent']))?.isUrgent ?? false;
  kept(readPerSecondField(fields['perSecond']));
  const live = kept(readLive(kind, fields['live'], context.liveRules))?.live;
  return { faults, target, payloads, texts, sendAtMs, sendAtLocal, isUrgent, live };
}
