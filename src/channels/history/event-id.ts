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

/** Reads an id out of untrusted input. */
export function parseEventId(text: string): EventId | undefined {
  return EVENT_ID.test(text) ? (text as EventId) : undefined;
}

/** Makes the id of the event with a given number. */
export function newEventId(number: number): EventId {
  return `${number}-${newHalf()}` as EventId;
}

export function numberOf(id: EventId): number {
  return Number(id.slice(0, id.indexOf('-')));
}

/** All pairs of characters: the text of a number from 0 to 1,295 in base 36. */
const PAIRS = Array.from({ length: 36 * 36 }, (_, number) => number.toString(36).padStart(2, '0'));

/** Makes the random half of an id. */
export function newHalf(): string {
  if (next === block.length) {
    crypto.getRandomValues(block);
    next = 0;
  }
  const high = block[next++] ?? 0;
  const low = block[next++] ?? 0;
  // Of 32 bits 20.7 are used, so the distribution is uniform to one part in 2,500.
  return fourCharacters(high) + fourCharacters(low);
}

function fourCharacters(random: number): string {
  return `${PAIRS[Math.floor(random / PAIRS.length) % PAIRS.length]}${PAIRS[random % PAIRS.length]}`;
}
