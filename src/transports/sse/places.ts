import { type EventId, parseEventId } from '../../channels/history/event-id.ts';
import type { ResumePlace } from '../../channels/history/resume.ts';

/** Where a reader goes on in one channel. */
export type ReaderPlace = ResumePlace['after'];

/** Stands for a place that cannot be used: no event has this id, so whoever comes back with it learns of a gap. */
const UNUSABLE = '0-00000000' as EventId;

/** An id has at most 24 characters. */
const PLACE_LENGTH_MAX = 25;

/** Reads the places that a reader has reached, one for each of its channels; `undefined` if the text is anything else. */
export function readPlaces(text: string, channels: number): readonly ReaderPlace[] | undefined {
  if (text.length > channels * PLACE_LENGTH_MAX) return undefined;
  const parts = text.split(',');
  if (parts.length !== channels) return undefined;
  const places = parts.map((part) => (part === '' ? 'none' : parseEventId(part)));
  return places.every((place) => place !== undefined) ? places : undefined;
}

/** The places of a reader that is new in all of its channels, or whose places cannot be used. */
export function samePlaces(channels: number, place: 'none' | 'unknown'): readonly ReaderPlace[] {
  return Array.from({ length: channels }, () => place);
}

/** How an `id:` line names a place. */
export function placeText(place: ReaderPlace): EventId | '' {
  if (place === 'none') return '';
  return place === 'unknown' ? UNUSABLE : place;
}
