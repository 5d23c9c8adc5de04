/** The size of a hash table by topic, a power of two. It has no collision handling: collisions only overestimate. */
export const PLACES = 4096;

/** Returns a 32-bit hash of all characters of a topic: names may differ anywhere. */
export function hashOf(topic: string): number {
  let hash = topic.length;
  for (let at = 0; at < topic.length; at++) {
    hash = (Math.imul(hash, 31) + topic.charCodeAt(at)) | 0;
  }
  return hash;
}

/** Returns the place of a hash in the table, from 0 to 4,095. */
export function placeOf(hash: number): number {
  return hash & (PLACES - 1);
}
