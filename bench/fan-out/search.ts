/** How to look for the rate that holds. */
export interface Search {
  readonly startAt: number;
  /** What the rate is multiplied with or divided by at first. Each turn takes its root, down to `factorMin`. */
  readonly factor: number;
  readonly factorMin: number;
  /** Ends after so many turns at the smallest factor. */
  readonly turns: number;
}

/** More than any search takes that does not start from somewhere else entirely. */
const STEPS_MAX = 200;

/**
 * Finds the rate at which it is as likely to hold as not, by going up after each that held and down after each that did
 * not: the geometric mean of where it turned. Near the limit one bad second decides whether a rate holds, so the
 * highest that ever held, and the lowest that ever failed, are chance. Rates are whole numbers. 0 where not even 1 holds.
 *
 * This is the staircase of Dixon and Mood (1948), with steps that get smaller at first as in PEST (Taylor and Creelman, 1967).
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
