/**
 * Publishes are limited to 100 a second per instance, so more of them come from many instances; where the limit
 * is turned off as well, it is the server that is measured. It is the same for all and only listens here.
 */
const INSTANCES = 200;

/** One instance, as backends and devices are told of it. */
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
