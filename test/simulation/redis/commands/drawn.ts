import type { Random } from '../../../../testing/random.ts';
import { integerOf } from '../keyspace.ts';
import type { Reply } from '../reply.ts';

/**
 * Draws of some names: one without a count, different ones for a positive count, any for a negative one. Redis reads the count before
 * the key.
 */
export function drawn(
  random: Random,
  namesOf: () => readonly string[],
  count: string | undefined,
): Reply {
  const wanted = count === undefined ? undefined : integerOf(count);
  const names = namesOf();
  if (wanted === undefined) return random.pickIfAny(names) ?? null;
  if (names.length === 0) return [];
  if (wanted < 0) return Array.from({ length: -wanted }, () => random.pick(names));
  const left = [...names];
  const taken: string[] = [];
  while (taken.length < wanted && left.length > 0) {
    taken.push(...left.splice(random.between(0, left.length - 1), 1));
  }
  return taken;
}
