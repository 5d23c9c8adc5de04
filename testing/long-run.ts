/**
 * `npm run test:long` sets TEST_LONG=1: tests that choose at random then choose anew, and run for longer.
 * TEST_SEED repeats the choices of a run that failed.
 */
// Not called FANFARE_...: servers that tests start inherit the environment, and refuse settings that they do not know.
export const isLong = process.env['TEST_LONG'] === '1';

/** How much of something a test does: `usual`, or `long` in a long run. */
export function runs(usual: number, long: number): number {
  return isLong ? long : usual;
}

/** What random choices of a test start from: always the same, but in a long run. */
export function testSeed(): number {
  const given = process.env['TEST_SEED'];
  if (given !== undefined) return Number(given);
  return isLong ? Math.floor(Math.random() * 2 ** 31) : 1;
}
