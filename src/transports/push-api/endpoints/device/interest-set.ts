import { INTERESTS_PER_DEVICE } from '../../../../push/model/instance.ts';
import { INTEREST_LENGTH_MAX, isInterest } from '../../../../push/model/interest.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import type { JsonObject } from '../../../../runtime/json-object.ts';

export const INTEREST_RULE = `must be 1 to ${INTEREST_LENGTH_MAX} of the letters A to Z and a to z, digits, and _ - = @ , . ;`;

/** Entries of a set that are read, duplicates included. */
export const ENTRIES_MAX = 2 * INTERESTS_PER_DEVICE;

export const TOO_MANY = new PushRefusal(
  'too-many-interests',
  `A device can have ${INTERESTS_PER_DEVICE} interests at most`,
);

/** Reads the interests that a device is to have, without duplicates. */
export function readInterestSet({ interests }: JsonObject): readonly string[] | PushRefusal {
  if (!Array.isArray(interests)) {
    return new PushRefusal('bad-device-request', '`interests`: must be an array of strings');
  }
  if (interests.length > ENTRIES_MAX) return TOO_MANY;
  const names = new Set<string>();
  for (const [index, name] of interests.entries()) {
    const field = `\`interests.${index}\``;
    if (typeof name !== 'string') {
      return new PushRefusal('bad-device-request', `${field}: must be a string`);
    }
    if (!isInterest(name)) return new PushRefusal('bad-interest', `${field}: ${INTEREST_RULE}`);
    names.add(name);
  }
  return names.size > INTERESTS_PER_DEVICE ? TOO_MANY : [...names];
}
