/**
 * Puts the clock of a process wrong, in each of its threads: by `CLOCK_OFFSET_MS` from the start, and with
 * SIGUSR2 by `CLOCK_JUMP_MS` more. Loaded before anything that reads the time.
 */
const RealDate = Date;
const settings = process.env;
let offsetMs = Number(settings['CLOCK_OFFSET_MS'] ?? 0);

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: readonly unknown[], newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
});

function now(): number {
  return RealDate.now() + offsetMs;
}

/** Lets the clock of this thread jump. */
export function jump(): void {
  offsetMs += Number(settings['CLOCK_JUMP_MS'] ?? 0);
}
