import type { AudienceSource } from './audience-source.ts';
import type { Recipient } from './model/device.ts';
import type { PublishTarget } from './model/publish.ts';

/** A page of an audience, in device order. */
export interface AudiencePage {
  readonly recipients: readonly Recipient[];
  /** The last device number that was read. The next page begins after it. */
  readonly last: number;
}

export interface AudienceQuery {
  readonly instance: number;
  readonly target: PublishTarget;
  /** Starts after this device number. 0: from the beginning. */
  readonly after: number;
  /** The limit of devices per page. */
  readonly pageDevices: number;
}

/** How many device numbers to read ahead: for all names together, and the minimum for one name. */
const READ_AHEAD = 20_000;
const READ_AHEAD_OF_NAME_MIN = 100;

/** Names that are read concurrently. */
const NAMES_AT_ONCE = 16;

/**
 * Reads an audience page by page, each device once however many of the names match. The audience is never in memory
 * as a whole: some device numbers of each name are read ahead, and merged as far as all names have been read.
 */
export async function* audiencePages(
  source: AudienceSource,
  query: AudienceQuery,
): AsyncGenerator<AudiencePage> {
  const { instance, pageDevices } = query;
  let page: number[] = [];
  for await (const numbers of mergedNumbers(source, query)) {
    page = page.length === 0 ? numbers : page.concat(numbers);
    let from = 0;
    for (; page.length - from >= pageDevices; from += pageDevices) {
      yield await pageOf(source, instance, page.slice(from, from + pageDevices));
    }
    page = page.slice(from);
  }
  if (page.length > 0) yield await pageOf(source, instance, page);
}

async function pageOf(
  source: AudienceSource,
  instance: number,
  numbers: readonly number[],
): Promise<AudiencePage> {
  return {
    recipients: await source.recipients(instance, numbers),
    last: numbers.at(-1) ?? 0,
  };
}

/** The device numbers of one interest or user that have been read ahead. */
interface Stream {
  readonly name: string;
  /** In device order. */
  ahead: readonly number[];
  /** How many of them have been merged. */
  taken: number;
  ended: boolean;
}

/** Merges the device numbers of all names, in device order and without duplicates. */
async function* mergedNumbers(
  source: AudienceSource,
  { instance, target, after, pageDevices }: AudienceQuery,
): AsyncGenerator<number[]> {
  const { kind, names } = target;
  const limit = Math.max(
    READ_AHEAD_OF_NAME_MIN,
    Math.min(pageDevices, Math.ceil(READ_AHEAD / names.length)),
  );
  let streams = names.map((name): Stream => ({ name, ahead: [], taken: 0, ended: false }));
  const readAhead = async (stream: Stream): Promise<void> => {
    const from = stream.ahead.at(-1) ?? after;
    const range = { instance, kind, name: stream.name, after: from, limit };
    stream.ahead = await source.numbers(range);
    stream.taken = 0;
    stream.ended = stream.ahead.length < limit;
  };
  while (streams.length > 0) {
    const empty = streams.filter(({ ahead, taken, ended }) => taken === ahead.length && !ended);
    for (let at = 0; at < empty.length; at += NAMES_AT_ONCE) {
      await Promise.all(empty.slice(at, at + NAMES_AT_ONCE).map(readAhead));
    }
    const numbers = takeKnown(streams);
    if (numbers.length > 0) yield numbers;
    streams = streams.filter(({ ahead, taken, ended }) => !ended || taken < ahead.length);
  }
}

/** Takes the numbers up to the lowest end of the streams: no unread number can be lower than that. */
function takeKnown(streams: readonly Stream[]): number[] {
  let end = Number.POSITIVE_INFINITY;
  for (const { ahead, ended } of streams) {
    if (!ended) end = Math.min(end, ahead.at(-1) ?? 0);
  }
  const [first] = streams;
  if (streams.length === 1 && first !== undefined) {
    const numbers = first.ahead.slice(first.taken);
    first.taken = first.ahead.length;
    return numbers;
  }
  const parts: (readonly number[])[] = [];
  let count = 0;
  for (const stream of streams) {
    const { ahead, taken } = stream;
    const until = indexAfter(ahead, end, taken);
    if (until === taken) continue;
    parts.push(ahead.slice(taken, until));
    count += until - taken;
    stream.taken = until;
  }
  return sortedOnce(parts, count);
}

/** The index of the first number greater than `end`. */
function indexAfter(numbers: readonly number[], end: number, from: number): number {
  let low = from;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= end) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sortedOnce(parts: readonly (readonly number[])[], count: number): number[] {
  // A typed array sorts several times as fast.
  const all = new Float64Array(count);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  all.sort();
  const once: number[] = [];
  let last = -1;
  for (const number of all) {
    if (number !== last) once.push(number);
    last = number;
  }
  return once;
}
