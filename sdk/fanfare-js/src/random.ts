/** A random whole number below a limit; by the system's generator where there is one. */
export function randomInt(limit: number): number {
  const [word = 0] = globalThis.crypto?.getRandomValues?.(new Uint32Array(1)) ?? [
    Math.random() * 2 ** 32,
  ];
  return Math.floor((word / 2 ** 32) * limit);
}
