import { parseJsonObject } from '../../runtime/json-object.ts';
import { Unreadable } from '../../runtime/unreadable.ts';
import type { Ask, AskedUsers, AskReport } from './ask.ts';

/** Reads an ask of another server. Throws `Unreadable`. */
export function readAsk(text: string): Ask {
  const { attempt, origin, waitMs, connectionsMax, userIds, isAlone } = parseJsonObject(text) ?? {};
  if (!isCount(attempt) || typeof origin !== 'string') throw unreadable('an ask');
  if (!isCount(waitMs) || !isCount(connectionsMax) || !isUsers(userIds)) throw unreadable('an ask');
  const ask = { attempt, origin, waitMs, connectionsMax, userIds };
  return isAlone === true ? { ...ask, isAlone } : ask;
}

/** Reads a report of another server. Throws `Unreadable`. */
export function readAskReport(text: string): AskReport {
  const { what, attempt, connections, userId } = parseJsonObject(text) ?? {};
  if (!isCount(attempt)) throw unreadable('a report');
  if (what === 'answered' && typeof userId === 'string') return { what, attempt, userId };
  if (what === 'asked' && isCounts(connections)) return { what, attempt, connections };
  throw unreadable('a report');
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isUsers(value: unknown): value is AskedUsers {
  if (value === 'signed-in') return true;
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isCounts(value: unknown): value is readonly (readonly [string, number])[] {
  const isPair = (one: unknown) =>
    Array.isArray(one) && typeof one[0] === 'string' && isCount(one[1]);
  return Array.isArray(value) && value.every(isPair);
}

function unreadable(what: string): Unreadable {
  return new Unreadable(`This is not ${what}`);
}
