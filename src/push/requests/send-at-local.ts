import { isGiven } from '../../runtime/json-object.ts';
import { firstInstantOf, type LocalTime, readLocalTime } from '../model/local-time.ts';
import { FieldFault } from '../refusal.ts';
import { SEND_AHEAD_DAYS_MAX, SEND_AHEAD_MAX_MS } from './send-at.ts';

/** What a publish says about its time besides `sendAtLocal`. */
export interface OtherTimes {
  readonly sendAt: unknown;
  readonly live: unknown;
}

/** Reads the time by the clock of each device at which a publish is sent. */
export function readSendAtLocal(
  value: unknown,
  { sendAt, live }: OtherTimes,
  nowMs: number,
): { readonly time: LocalTime | undefined } | FieldFault {
  if (!isGiven(value)) return { time: undefined };
  const fault = (rule: string) => new FieldFault('sendAtLocal', rule);
  const time = typeof value === 'string' ? readLocalTime(value) : undefined;
  if (time === undefined) {
    return fault('must be a time without an offset, for example 2030-01-31T18:00');
  }
  if (isGiven(sendAt)) return fault('cannot be used with sendAt');
  if (isGiven(live)) return fault('cannot be used with live');
  return firstInstantOf(time) > nowMs + SEND_AHEAD_MAX_MS
    ? fault(`must be at most ${SEND_AHEAD_DAYS_MAX} days ahead`)
    : { time };
}
