/** Attempts by duration, shortest first; `null`: longer than all others. */
export type Durations = readonly { readonly upToMs: number | null; readonly attempts: number }[];

/** The time within which this share of the attempts had finished; `undefined` without attempts. */
export function within(durations: Durations, share: number): number | null | undefined {
  const total = durations.reduce((sum, { attempts }) => sum + attempts, 0);
  let counted = 0;
  for (const { upToMs, attempts } of durations) {
    counted += attempts;
    if (total > 0 && counted >= total * share) return upToMs;
  }
  return undefined;
}
