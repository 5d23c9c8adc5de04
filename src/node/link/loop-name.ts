export type LoopName = 'realtime' | `realtime-${number}`;

/** The name of a realtime loop in metrics and log lines. */
export function loopName(index: number): LoopName {
  return index === 0 ? 'realtime' : `realtime-${index}`;
}
