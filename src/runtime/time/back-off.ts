/** A pause that doubles with each repetition, up to a limit. Jitter is the caller's job. */
export function doubledMs(
  firstMs: number,
  { times, maxMs }: { readonly times: number; readonly maxMs: number },
): number {
  return Math.min(maxMs, firstMs * 2 ** times);
}
