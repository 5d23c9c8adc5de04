import { expect, it } from 'bun:test';
import { reportingUser } from './reporting-user.ts';

it.each([
  ['ann', 'ann', 'ann'],
  [undefined, 'ann', 'ann'],
  ['bob', 'ann', undefined],
  ['ann', undefined, undefined],
  [undefined, undefined, undefined],
])('of a report for %s by a device of %s is %s', (reported, ofDevice, user) => {
  expect(reportingUser(reported, ofDevice)).toBe(user);
});
