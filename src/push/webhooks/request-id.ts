import { nameUuid } from './name-uuid.ts';

/**
 * Derives the id of a request from its event, so that an event that is sent again is stored once. Like a UUID of version
 * 7 it begins with the time, but the rest is derived from the name instead of being random.
 */
export function requestId(
  atMs: number,
  namespace: string,
  name: readonly (string | number)[],
): string {
  const time = atMs.toString(16).padStart(12, '0');
  const rest = nameUuid(namespace, name).slice('01234567-0123-5'.length);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest}`;
}
