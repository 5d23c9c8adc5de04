import { expect, it } from 'bun:test';
import { pushRules } from './push-rules.ts';

const rule = {
  channels: 'alerts-*',
  events: ['new'],
  instance: '6F1B0F5E-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
  web: { notification: { title: '{{title}}' } },
};
const problems = (given: object) => {
  const read = pushRules.safeParse([{ ...rule, ...given }]);
  return read.success
    ? []
    : read.error.issues.map(({ path, message }) => [path.join('.'), message]);
};

it('is read with a rate', () => {
  expect(pushRules.parse([{ ...rule, interest: 'on-*' }])).toEqual([
    { ...rule, instance: rule.instance.toLowerCase(), interest: 'on-*', perSecond: 10 },
  ]);
});

it.each(['private-*', 'private-a', 'p*', 'pre*', 'presence-a*', '*', '#*', '#server-to-user-1'])(
  'has no interest for %s, because anybody may subscribe a device to it',
  (channels) => {
    expect(problems({ channels, interest: 'a' })).toEqual([
      ['0.interest', expect.stringContaining('anybody may subscribe')],
    ]);
    expect(problems({ channels, users: 'to' })).toEqual([]);
  },
);

it.each(['a*', 'alerts', 'cache-*', 'prix-*', 'public-*'])(
  'may have an interest for %s',
  (channels) => {
    expect(problems({ channels, interest: 'a' })).toEqual([]);
  },
);

it.each<[object, string]>([
  [{}, 'needs either interest or users'],
  [{ interest: 'a', users: 'b' }, 'needs either interest or users'],
  [{ interest: 'a', web: undefined }, 'needs apns, fcm or web'],
  [{ interest: 'a b' }, 'must be an interest'],
  [{ users: 'a..b' }, 'must name a field of the data'],
  [{ interest: 'a', events: [] }, 'must'],
  [{ interest: 'a', events: [''] }, 'must not be empty'],
  [{ interest: 'a', events: ['pusher:ping'] }, 'must not begin with pusher:'],
  [{ interest: 'a', web: [] }, 'must be an object'],
  [{ interest: 'a', web: { a: 'x'.repeat(11_000) } }, 'at most 10240 characters'],
  [{ interest: 'a', perSecond: 0 }, 'must be between 1 and 1000'],
  [{ interest: 'a', instance: 'x' }, 'must be a UUID'],
])('is refused as %j', (given, problem) => {
  expect(problems(given).map(([, message]) => message)).toEqual([expect.stringContaining(problem)]);
});
