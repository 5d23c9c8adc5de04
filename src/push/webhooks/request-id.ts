import { nameUuid } from './name-uuid.ts';

/**
 * Gives the id of a request that tells what happened at a time: the same whoever tells it, so that the store keeps
 * it once. Like a UUID of version 7 it begins with the time, but the rest is of the name and not random.
 */
export function requestId(atMs: number, space: string, name: readonly (string | number)[]): string {
  const time = atMs.toString(16).padStart(12, '0');
  const rest = nameUuid(space, name).slice('01234567-0123-5'.length);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest}`;
}
