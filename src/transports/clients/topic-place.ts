/** What is noted of topics is noted in so many places, a power of two, and not by topic: a look-up takes longer than the rest. */
export const PLACES = 4096;

/** 32 bits, signed, that other topics may share, which is rare; of all characters, since names differ anywhere. */
export function hashOf(topic: string): number {
  let hash = topic.length;
  for (let at = 0; at < topic.length; at++) {
    hash = (Math.imul(hash, 31) + topic.charCodeAt(at)) | 0;
  }
  return hash;
}

/** The place of a topic with this hash, from 0 to 4,095, which others share. */
export function placeOf(hash: number): number {
  return hash & (PLACES - 1);
}
