/** Waits for `work`, but no longer than `maxMs`. Leaves no timer behind. */
export async function withTimeout(maxMs: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, maxMs);
  await Promise.race([work, late.promise]);
  clearTimeout(timer);
}
