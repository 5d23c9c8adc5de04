import type { LeftOut, LeftOutDevices } from '../../../push/model/delivery.ts';
import { readPlaces, writePlaces } from './page-places.ts';

/** Encodes which devices of a page do not get it, and why. */
export function writeLeftOut(
  devices: readonly number[],
  leftOut: readonly LeftOutDevices[],
): string {
  if (leftOut.length === 0) return '';
  const placeOf = new Map(devices.map((device, place) => [device, place]));
  return JSON.stringify(
    leftOut.map(({ what, reason, words, devices: some }) => {
      const places = new Set(some.flatMap((device) => placeOf.get(device) ?? []));
      return [what, reason, words, writePlaces(places)];
    }),
  );
}

/** Decodes the result of `writeLeftOut`: why a device does not get it, by its number. `undefined`: all get it. */
export function readLeftOut(
  devices: readonly number[],
  text: string,
): ReadonlyMap<number, LeftOut> | undefined {
  if (text === '') return undefined;
  const rows: (readonly [LeftOut['what'], string, string, string])[] = JSON.parse(text);
  const leftOut = new Map<number, LeftOut>();
  for (const [what, reason, words, written] of rows) {
    for (const place of readPlaces(written)) {
      const device = devices[place];
      if (device !== undefined) leftOut.set(device, { what, reason, words });
    }
  }
  return leftOut;
}
