import type { AppTick, WatchedApp } from './records.ts';

/** The messages between servers about watching. */
export type ClusterMessage =
  /** Everything that a server watches. Sent repeatedly; without repetition, it expires. */
  | { readonly type: 'watch'; readonly node: string; readonly apps: readonly WatchedApp[] }
  /** What a server's loops have recorded, for a server that watches. May be empty, as a sign of life. */
  | { readonly type: 'ticks'; readonly node: string; readonly ticks: readonly AppTick[] };

/** Reads a message of another server, which may have another version; `undefined` if it is no such message. */
export function readMessage(text: string): ClusterMessage | undefined {
  let message: Partial<Record<string, unknown>>;
  try {
    message = Object(JSON.parse(text));
  } catch {
    return undefined;
  }
  const { type, node, apps, ticks } = message;
  if (typeof node !== 'string') return undefined;
  if (type === 'watch' && isListOf(apps, isWatchedApp)) return { type, node, apps };
  if (type === 'ticks' && isListOf(ticks, isTick)) return { type, node, ticks };
  return undefined;
}

function isWatchedApp(app: unknown): app is WatchedApp {
  const { id, filters } = Object(app);
  return typeof id === 'string' && isListOf(filters, isFilter);
}

function isFilter(filter: unknown): boolean {
  return isObject(filter) && isListOf(filter['kinds'] ?? [], isText);
}

function isTick(tick: unknown): tick is AppTick {
  const { appId, loop, records, heard, skipped, counts } = Object(tick);
  return (
    isText(appId) &&
    isText(loop) &&
    isListOf(records, isRecord) &&
    isListOf(heard, isReceivedElsewhere) &&
    isByKind(skipped) &&
    (counts === undefined || isCounts(counts))
  );
}

/** A later version may have more fields, so only those are checked with which something is done here. */
function isRecord(record: unknown): boolean {
  const { kind, atMs, channel = '', trace = '', event = '', receivers = 0 } = Object(record);
  const texts = [kind, channel, trace, event];
  return isObject(record) && texts.every(isText) && isNumber(atMs) && isNumber(receivers);
}

function isReceivedElsewhere(given: unknown): boolean {
  return Array.isArray(given) && isText(given[0]) && isNumber(given[1]);
}

function isCounts(counts: unknown): boolean {
  const { kinds, channels, names } = Object(counts);
  return isByKind(kinds) && isListOf(channels, isNamed) && isListOf(names, isNamed);
}

function isNamed(named: unknown): boolean {
  const { name, events } = Object(named);
  return isText(name) && isNumber(events);
}

function isByKind(counts: unknown): boolean {
  return isObject(counts) && Object.values(counts).every(isNumber);
}

function isListOf<T>(list: unknown, is: (one: unknown) => one is T): list is readonly T[];
function isListOf(list: unknown, is: (one: unknown) => boolean): list is readonly unknown[];
function isListOf(list: unknown, is: (one: unknown) => boolean): boolean {
  return Array.isArray(list) && list.every(is);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
