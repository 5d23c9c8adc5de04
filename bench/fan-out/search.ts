/** The parameters of a search for the sustained rate. */
export interface Search {
  readonly startAt: number;
  /**
   * The factor by which the rate is first multiplied or divided. Each reversal replaces it by its square root, down
   * to `factorMin`.
   */
  readonly factor: number;
  readonly factorMin: number;
  /** The search ends after this many reversals at the smallest factor. */
  readonly turns: number;
}

/** More steps than any search needs that starts near the result. */
const STEPS_MAX = 200;

/**
 * Finds the rate that is sustained in half of the attempts: it increases the rate after each success and decreases it
 * after each failure. The result is the geometric mean of the reversals. Near the limit one bad second decides about
 * a step, so the highest success and the lowest failure are random. Rates are whole numbers. 0 if not even 1 is
 * sustained.
 *
 * This is the staircase of Dixon and Mood (1948), with steps that get smaller at first as in PEST (Taylor and
 * Creelman, 1967).
 */
export async function rateThatHolds(
  search: Search,
  holds: (rate: number) => Promise<boolean>,
): Promise<number> {
  let rate = Math.max(1, Math.round(search.startAt));
  let { factor } = search;
  let wasHeld: boolean | undefined;
  const turnedAt: number[] = [];

  for (let step = 0; step < STEPS_MAX; step += 1) {
    const isHeld = await holds(rate);
    if (!isHeld && rate === 1) return 0;
    if (wasHeld !== undefined && isHeld !== wasHeld) {
      if (factor === search.factorMin) turnedAt.push(rate);
      else factor = Math.max(search.factorMin, Math.sqrt(factor));
      if (turnedAt.length === search.turns) return Math.round(geometricMean(turnedAt));
    }
    wasHeld = isHeld;
    rate = isHeld
      ? Math.max(rate + 1, Math.round(rate * factor))
      : Math.max(1, Math.min(rate - 1, Math.round(rate / factor)));
  }
  throw new Error(`no end was found within ${STEPS_MAX} steps, the last at a rate of ${rate}`);
}

function geometricMean(numbers: readonly number[]): number {
  return Math.exp(numbers.reduce((sum, number) => sum + Math.log(number), 0) / numbers.length);
}
