/**
 * Publishes are limited to 100 per second and instance, so higher rates use many instances. If the limit is turned
 * off as well, the server itself is measured. Equal for all servers; this listener only receives.
 */
const INSTANCES = 200;

/** One instance, as backends and devices know it. */
export interface BenchInstance {
  readonly id: string;
  readonly secretKey: string;
}

/** The instances that the servers started here are given. */
export const benchInstances: readonly BenchInstance[] = Array.from(
  { length: INSTANCES },
  (_, index) => ({
    id: `b0000000-0000-4000-8000-${hex(index, 12)}`,
    // As long as real ones are.
    secretKey: `BE${hex(index, 62)}`.toUpperCase(),
  }),
);

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}
