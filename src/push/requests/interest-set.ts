import type { JsonObject } from '../../runtime/json-object.ts';
import { INTERESTS_PER_DEVICE } from '../model/instance.ts';
import { INTEREST_LENGTH_MAX, isInterest } from '../model/interest.ts';
import { FieldFault, PushRefusal, refuseField } from '../refusal.ts';

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
    const fault = new FieldFault('interests', 'must be an array of strings');
    return refuseField('bad-device-request', fault);
  }
  if (interests.length > ENTRIES_MAX) return TOO_MANY;
  const names = new Set<string>();
  for (const [index, name] of interests.entries()) {
    const field = `interests.${index}`;
    if (typeof name !== 'string') {
      return refuseField('bad-device-request', new FieldFault(field, 'must be a string'));
    }
    if (!isInterest(name)) return refuseField('bad-interest', new FieldFault(field, INTEREST_RULE));
    names.add(name);
  }
  return names.size > INTERESTS_PER_DEVICE ? TOO_MANY : [...names];
}
