/** Whether a JSON value has more than `levelsMax` levels of objects and arrays inside it. Not recursive. */
export function nestsDeeperThan(value: unknown, levelsMax: number): boolean {
  let level = childrenOf(value);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= levelsMax) return true;
    level = level.flatMap(childrenOf);
  }
  return false;
}

/** The objects and arrays directly inside a value. */
function childrenOf(value: unknown): readonly object[] {
  return typeof value === 'object' && value !== null
    ? Object.values(value).filter((child) => typeof child === 'object' && child !== null)
    : [];
}
