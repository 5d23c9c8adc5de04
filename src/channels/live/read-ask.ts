import { parseJsonObject } from '../../runtime/json-object.ts';
import { Unreadable } from '../../runtime/unreadable.ts';
import type { Ask, AskedUsers, AskMessage, CountsOfUsers, OtherConnections } from './ask.ts';

/** Reads an ask of another server. Throws `Unreadable`. */
export function readAsk(text: string): Ask {
  const json = parseJsonObject(text) ?? {};
  const { attempt, origin, waitMs, connectionsMax, atOnce, userIds, isAlone } = json;
  if (!isCount(attempt) || typeof origin !== 'string') throw unreadable('an ask');
  if (!isCount(waitMs) || !isCount(connectionsMax) || !isUsers(userIds)) throw unreadable('an ask');
  if (atOnce !== undefined && !isCount(atOnce)) throw unreadable('an ask');
  const ask = { attempt, origin, waitMs, connectionsMax, atOnce, userIds };
  return isAlone === true ? { ...ask, isAlone } : ask;
}

/** Reads a message of another server about an ask. Throws `Unreadable`. */
export function readAskMessage(text: string): AskMessage {
  const json = parseJsonObject(text) ?? {};
  const { what, attempt, connections, userId } = json;
  if (!isCount(attempt)) throw unreadable('a message about an ask');
  if (what === 'answered' && typeof userId === 'string') return { what, attempt, userId };
  if (what === 'asked' && isCounts(connections)) {
    const others = readOthers(json['others']);
    const moreOthers = readMoreOthers(json['moreOthers']);
    return { what, attempt, connections, others, ...(moreOthers && { moreOthers }) };
  }
  const { origin, waitMs, appId, channel } = json;
  const isAddressed = typeof origin === 'string' && typeof appId === 'string' && isCount(waitMs);
  if (what === 'more' && isAddressed && typeof channel === 'string' && isCounts(connections)) {
    return { what, attempt, origin, waitMs, appId, channel, connections };
  }
  throw unreadable('a message about an ask');
}

function readOthers(value: unknown): OtherConnections | undefined {
  if (value === undefined) return undefined;
  const { loop, connections } = Object(value);
  if (typeof loop === 'string' && isCounts(connections)) return { loop, connections };
  throw unreadable('a message about an ask');
}

function readMoreOthers(value: unknown): readonly OtherConnections[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw unreadable('a message about an ask');
  return value.flatMap((one) => readOthers(one) ?? []);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isUsers(value: unknown): value is AskedUsers {
  if (value === 'signed-in') return true;
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isCounts(value: unknown): value is CountsOfUsers {
  const isPair = (one: unknown) =>
    Array.isArray(one) && typeof one[0] === 'string' && isCount(one[1]);
  return Array.isArray(value) && value.every(isPair);
}

function unreadable(what: string): Unreadable {
  return new Unreadable(`This is not ${what}`);
}
