/** What is noted of topics is noted in so many places, a power of two, and not by topic: a look-up takes longer than the rest. */
export const PLACES = 4096;

/** So many characters at the end of a topic decide its place. */
const CHARACTERS_OF_PLACE = 16;

/** The place of a topic, from 0 to 4,095, which others may share. */
export function placeOf(topic: string): number {
  let place = topic.length;
  for (let at = Math.max(0, topic.length - CHARACTERS_OF_PLACE); at < topic.length; at++) {
    place = (Math.imul(place, 31) + topic.charCodeAt(at)) | 0;
  }
  return place & (PLACES - 1);
}
