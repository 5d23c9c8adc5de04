/** Encodes places in a page, counted from 0, as a bitmap in base64. */
export function writePlaces(places: ReadonlySet<number>): string {
  if (places.size === 0) return '';
  const bits = new Uint8Array(1 + (Math.max(...places) >> 3));
  for (const place of places) bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7));
  return bits.toBase64();
}

/** Decodes the result of `writePlaces`. */
export function readPlaces(text: string): Set<number> {
  const places = new Set<number>();
  for (const [at, byte] of Uint8Array.fromBase64(text).entries()) {
    for (let bit = 0; bit < 8; bit++) {
      if ((byte & (1 << bit)) !== 0) places.add(at * 8 + bit);
    }
  }
  return places;
}
