import type { LaterDue } from '../../../push/model/delivery.ts';
import { readPlaces, writePlaces } from './page-places.ts';

/** Devices of a page that are due at a time, by their places. */
export interface StoredDue extends Pick<LaterDue, 'atMs' | 'pacedMs'> {
  readonly places: ReadonlySet<number>;
}

/** Encodes when devices of a page are due that are due later than the others. */
export function writeDues(devices: readonly number[], dues: readonly LaterDue[]): string {
  if (dues.length === 0) return '';
  const placeOf = new Map(devices.map((device, place) => [device, place]));
  return writeStoredDues(
    dues.map(({ devices: some, ...due }) => ({
      ...due,
      places: new Set(some.flatMap((device) => placeOf.get(device) ?? [])),
    })),
  );
}

export function writeStoredDues(dues: readonly StoredDue[]): string {
  return dues
    .map(({ atMs, places, pacedMs }) => {
      const due = `${atMs}:${writePlaces(places)}`;
      return pacedMs === undefined ? due : `${due}:${pacedMs}`;
    })
    .join(' ');
}

/** Decodes the result of `writeDues`. */
export function readDues(text: string): readonly StoredDue[] {
  if (text === '') return [];
  return text.split(' ').map((due) => {
    const [at, places = '', pacedMs] = due.split(':');
    return {
      atMs: Number(at),
      places: readPlaces(places),
      pacedMs: pacedMs === undefined ? undefined : Number(pacedMs),
    };
  });
}
