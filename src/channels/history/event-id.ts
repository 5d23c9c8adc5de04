import type { Branded } from '../../runtime/branded.ts';

/**
 * The id of an event in the history of its channel, for example `1042-k3x9q2ab`. The number increases by one with
 * each event of the channel. The random half invalidates ids of a lost history, and makes ids unguessable.
 */
export type EventId = Branded<'EventId'>;

const EVENT_ID = /^\d{1,15}-[a-z0-9]{8}$/;

/** Random numbers are drawn in blocks, because one call costs more than a hundred numbers. */
const BLOCK = 256;
const block = new Uint32Array(2 * BLOCK);
let next = block.length;

const DIGITS = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz');
const NUMBER_DIGITS_MAX = 15;

/** Ids are written into this buffer: the number ends before the hyphen, and the random half follows it. */
const text = Buffer.from(`${' '.repeat(NUMBER_DIGITS_MAX)}-********`);
const HALF_AT = NUMBER_DIGITS_MAX + 1;

/** Reads an id out of untrusted input. */
export function parseEventId(text: string): EventId | undefined {
  return EVENT_ID.test(text) ? (text as EventId) : undefined;
}

/**
 * Makes the id of the event with a given number. It is written as one flat string: JavaScriptCore would keep the parts of
 * a concatenated string in memory for as long as the event is kept.
 */
export function newEventId(number: number): EventId {
  writeHalf();
  let at = NUMBER_DIGITS_MAX;
  let left = number;
  do {
    text[--at] = digit(left % 10);
    left = Math.floor(left / 10);
  } while (left > 0);
  return text.toString('latin1', at) as EventId;
}

export function numberOf(id: EventId): number {
  return Number(id.slice(0, id.indexOf('-')));
}

/** Makes the random half of an id. */
export function newHalf(): string {
  writeHalf();
  return text.toString('latin1', HALF_AT);
}

function writeHalf(): void {
  if (next === block.length) {
    crypto.getRandomValues(block);
    next = 0;
  }
  writeFour(HALF_AT, block[next++] ?? 0);
  writeFour(HALF_AT + 4, block[next++] ?? 0);
}

/** Writes four characters. Of 32 random bits 20.7 are used, so the distribution is uniform to one part in 2,500. */
function writeFour(at: number, random: number): void {
  let left = random;
  for (let index = at; index < at + 4; index++) {
    text[index] = digit(left % 36);
    left = Math.floor(left / 36);
  }
}

function digit(value: number): number {
  return DIGITS[value] ?? 0;
}
