/** How often the loop is asked whether it still turns. */
const EVERY_MS = 1;

/** Starts to watch this process's event loop; the function returned gives the longest time it stood still. */
export function watchLoop(): () => number {
  let longestMs = 0;
  let lastMs = performance.now();
  const look = () => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs - EVERY_MS);
    lastMs = nowMs;
  };
  const timer = setInterval(look, EVERY_MS);
  return () => {
    clearInterval(timer);
    // A loop that never turned has never looked.
    look();
    return longestMs;
  };
}
