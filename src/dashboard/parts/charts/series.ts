/** The consecutive values of a figure; `null` for a missing one. */
export type Values = readonly (number | null)[];

/** Keeps the highest value of each stretch, so that a short peak is not lost. */
export function thinned(values: Values, most: number): Values {
  if (values.length <= most) return values;
  return Array.from({ length: most }, (_, index) => {
    const part = values
      .slice(
        Math.floor((index * values.length) / most),
        Math.floor(((index + 1) * values.length) / most),
      )
      .filter((value) => value !== null);
    return part.length === 0 ? null : Math.max(...part);
  });
}

/** The parts of a series that have no gap. */
export function stretches(values: Values): { readonly value: number; readonly index: number }[][] {
  const found: { value: number; index: number }[][] = [];
  let isOpen = false;
  for (const [index, value] of values.entries()) {
    if (value === null) {
      isOpen = false;
      continue;
    }
    if (!isOpen) found.push([]);
    isOpen = true;
    found.at(-1)?.push({ value, index });
  }
  return found;
}
