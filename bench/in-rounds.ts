/** The results of each round, by what was measured. */
export type ByKey<Key extends string | number, Found> = Readonly<Record<Key, readonly Found[]>>;

/** Measures each in turn, and every second round the other way round, so that what comes first has no advantage. */
export async function inRounds<Key extends string | number, Found>(
  rounds: number,
  keys: readonly Key[],
  measure: (key: Key) => Promise<Found>,
): Promise<ByKey<Key, Found>> {
  // Filled before it is returned.
  const found = Object.fromEntries(keys.map((key) => [key, []])) as unknown as Record<Key, Found[]>;
  for (let round = 0; round < rounds; round++) {
    for (const key of round % 2 === 0 ? keys : keys.toReversed()) {
      found[key].push(await measure(key));
    }
  }
  return found;
}
