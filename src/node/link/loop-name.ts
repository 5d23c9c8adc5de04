/** The name of a realtime loop in metrics and log lines. */
export function loopName(index: number): string {
  return index === 0 ? 'realtime' : `realtime-${index}`;
}
