import { describe, expect, it } from 'bun:test';
import { bodyOfRule, type RuleTemplate, Unfit } from './rule-publish.ts';

const template = (payloads: object, users?: string): RuleTemplate => ({
  interest: users === undefined ? 'alerts' : undefined,
  users,
  payloads: payloads as RuleTemplate['payloads'],
});
const body = (payloads: object, data: unknown, users?: string) => {
  const made = bodyOfRule(template(payloads, users), JSON.stringify(data));
  return made instanceof Unfit ? made.why : made;
};

describe('the publish of a rule', () => {
  it('has texts and numbers of the data in place of placeholders, however deep', () => {
    const web = {
      notification: { title: '{{title}}: {{ a.b }}', badge: 1 },
      list: ['{{n}}', true],
    };
    expect(body({ web }, { title: 'Fire {{n}}', a: { b: 'x' }, n: 7 })).toEqual({
      interests: ['alerts'],
      web: { notification: { title: 'Fire {{n}}: x', badge: 1 }, list: ['7', true] },
    });
  });

  it.each([
    ['{{no}}', { a: 1 }, 'no'],
    ['{{a}}', { a: true }, 'a'],
    ['{{a}}', { a: null }, 'a'],
    ['{{a}}', { a: ['x'] }, 'a'],
    ['{{a.b}}', { a: 'x' }, 'a.b'],
    ['{{constructor}}', {}, 'constructor'],
    ['{{a.length}}', { a: 'x' }, 'a.length'],
    ['{{__proto__.a}}', {}, '__proto__.a'],
  ])('cannot be made if %p has no text or number in %p', (text, data, field) => {
    const why = `the field ${field} of the data is no text or number`;
    expect(body({ fcm: { data: { text } } }, data)).toBe(why);
  });

  it.each([['text'], [7], [null], [['a']]])('cannot be made of the data %p', (data) => {
    expect(body({ web: {} }, data)).toBe('the data is no JSON object');
  });

  it('cannot be made of text that is no JSON', () => {
    expect(bodyOfRule(template({ web: {} }), '{')).toBeInstanceOf(Unfit);
  });

  it.each([
    `{{${' '.repeat(4_000)}`,
    '{{ '.repeat(3_000),
    '{'.repeat(10_000),
    `{{${' a'.repeat(5_000)}}`,
  ])(
    'has what is no placeholder as it is',
    (text) => {
      expect(body({ web: { text } }, {})).toEqual({ interests: ['alerts'], web: { text } });
    },
    // A pattern that takes cubic time needs ten seconds or more.
    5_000,
  );

  it('cannot be made if it would be very large', () => {
    const web = { a: '{{a}}'.repeat(10) };
    expect(body({ web }, { a: 'x'.repeat(4_000) })).toBe('the notification would be too large');
  });

  it.each([
    [{ to: 'ann' }, 'to', ['ann']],
    [{ to: 7 }, 'to', ['7']],
    [{ message: { to: ['ann', 7] } }, 'message.to', ['ann', '7']],
  ])('is for the users of %p', (data, field, users) => {
    expect(body({ web: {} }, data, field)).toEqual({ users, web: {} });
  });

  it.each([[{}], [{ to: [] }], [{ to: [null] }], [{ to: { a: 1 } }], [{ to: true }]])(
    'cannot be made if no users are in %p',
    (data) => {
      expect(body({ web: {} }, data, 'to')).toBe('the field to of the data has no ids of users');
    },
  );
});
