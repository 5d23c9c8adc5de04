import { type JsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import type { PublishUnderWay } from '../model/delivery.ts';
import { type LocalTime, readLocalTime } from '../model/local-time.ts';
import type { PublishTarget } from '../model/publish.ts';
import type { Texts } from '../model/texts.ts';
import { type Payloads, readPayloads } from '../payloads/payloads.ts';
import { FieldFault } from '../refusal.ts';
import { readPerSecond } from '../requests/per-second.ts';
import { readTarget } from '../requests/publish-request.ts';
import { readTexts } from '../requests/texts.ts';

/** The target and the payloads of a publish. */
export interface StoredPublish {
  readonly target: PublishTarget;
  readonly payloads: Payloads;
  /** What it says to devices of other languages. */
  readonly texts?: Texts | undefined;
  /** When it is sent, by the clock of each device; `undefined`: to all at once. */
  readonly sendAtLocal?: LocalTime | undefined;
  /** Whether it passes quiet hours and caps. */
  readonly isUrgent?: boolean;
  /** How many notifications it sends per second; `undefined`: as many as its gateways take. */
  readonly perSecond?: number | undefined;
}

/** Reads an accepted publish. `undefined`: today's rules would refuse it. */
export function readStoredPublish({ kind, body }: PublishUnderWay): StoredPublish | undefined {
  const fields = parseJsonObject(body);
  if (fields === undefined) return undefined;
  const target = readTarget(kind, fields);
  const payloads = readPayloads(fields);
  const texts = readTexts(fields['texts']);
  return target instanceof FieldFault ||
    payloads instanceof FieldFault ||
    texts instanceof FieldFault
    ? undefined
    : { target, payloads, ...texts, ...mannersOf(fields) };
}

function mannersOf({ sendAtLocal, urgent, perSecond }: JsonObject) {
  return {
    sendAtLocal: typeof sendAtLocal === 'string' ? readLocalTime(sendAtLocal) : undefined,
    isUrgent: urgent === true,
    perSecond: readPerSecond(perSecond),
  };
}
