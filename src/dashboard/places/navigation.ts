import { may, seesEverything } from '../api/session.ts';
import { pages } from './pages.ts';

/** The pages of the navigation below a path, with their paths from there. */
const placesBelow = (start: string) =>
  pages.flatMap(({ path, place }) =>
    place !== undefined && path.startsWith(start)
      ? [{ ...place, path: path.slice(start.length) }]
      : [],
  );

/** The pages of one app: `live` is `/apps/APP/live`. */
export const appPlaces = placesBelow('/apps/:app/');

/** The pages of one push instance. */
export const pushPlaces = placesBelow('/push/:instance/');

/**
 * The pages of the whole server that the user may see. Users who may see only some apps or instances see none of
 * them.
 */
export function serverPlaces() {
  return seesEverything()
    ? placesBelow('').filter(({ role }) => role !== undefined && may(role))
    : [];
}
