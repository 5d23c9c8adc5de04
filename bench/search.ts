/** How to look for the highest rate that holds. */
export interface Search {
  readonly startAt: number;
  /** What a rate that held is multiplied with, and one that did not divided by, until both are known. */
  readonly growth: number;
  /** Ends when the lowest rate that failed is at most this many times the highest that held. */
  readonly precision: number;
}

/**
 * Finds the highest rate that holds, in whole numbers: up or down in steps until it lies between two
 * rates, then by halving. 0 where not even 1 holds. A failure that everything below contradicts was
 * likely an accident, so it is tried again, and if it holds now the search goes on above it.
 */
export async function highestThatHolds(
  search: Search,
  holds: (rate: number) => Promise<boolean>,
): Promise<number> {
  let held = 0;
  let failed = Infinity;
  // Whether a rate has failed that lay between one that held and one that failed.
  let isConfirmed = false;
  let rate = Math.max(1, Math.round(search.startAt));

  while (failed > 1) {
    const wasBetween = held > 0 && failed < Infinity;
    if (await holds(rate)) {
      held = rate;
      if (held >= failed) failed = Infinity;
    } else {
      if (wasBetween) isConfirmed = true;
      failed = rate;
    }

    if (failed === Infinity) rate = Math.max(held + 1, Math.round(held * search.growth));
    else if (held === 0) rate = Math.max(1, Math.round(failed / search.growth));
    else if (failed > Math.max(held + 1, held * search.precision)) {
      rate = Math.min(Math.max(Math.round(Math.sqrt(held * failed)), held + 1), failed - 1);
    } else if (isConfirmed) return held;
    else rate = failed;
  }
  return 0;
}
