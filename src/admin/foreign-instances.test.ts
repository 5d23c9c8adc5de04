import { expect, it } from 'bun:test';
import type { PushRule } from '../channels/app.ts';
import { refuseForeignInstances } from './foreign-instances.ts';
import type { Rights } from './rights.ts';

const rights = (instances: Rights['instances']): Rights => ({
  role: 'admin',
  apps: ['1'],
  instances,
  seesPayloads: true,
});
const rulesFor = (...instances: readonly string[]) =>
  instances.map((instance) => ({ instance })) as unknown as readonly PushRule[];

it('lets only an admin of an instance make rules that send its notifications', () => {
  const change =
    (instances: readonly string[], of: Rights, present: readonly string[] = []) =>
    () =>
      refuseForeignInstances(rulesFor(...instances), { present: rulesFor(...present), rights: of });
  expect(change(['a', 'b'], rights(['a']))).toThrow(
    'the rule sends notifications of that instance, so it takes an admin of the instance',
  );
  expect(change(['a', 'b'], rights(['a', 'b']))).not.toThrow();
  expect(change(['a', 'b'], rights('*'))).not.toThrow();
  // It stays as it was.
  expect(change(['b'], rights([]), ['b'])).not.toThrow();
  expect(() =>
    refuseForeignInstances(undefined, { present: [], rights: rights([]) }),
  ).not.toThrow();
});
