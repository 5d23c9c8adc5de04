import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { vapidSubjectFault } from './vapid-subject.ts';

const faultOf = (subject: unknown, more: object = {}) =>
  vapidSubjectFault({ vapid: { subject }, ...more });

describe('the VAPID subject', () => {
  it.each([
    'mailto:ops@example.com',
    'mailto:push+shop@mail.example.co.uk',
    'https://shop.example/contact',
    'https://shop.example:8443',
  ])('may be %s', (subject) => {
    expect(faultOf(subject)).toBeUndefined();
  });

  it.each([
    'mailto:ops@localhost',
    'mailto:ops@shop.localhost',
    'https://localhost',
    'https://localhost:6002/',
    'mailto:<ops@example.com>',
    'mailto:',
    'mailto:ops',
    'mailto:@example.com',
    'mailto:ops@',
    'https://',
    'https://shop',
  ])('may not be %s, unless private addresses are allowed', (subject) => {
    expect(faultOf(subject)).toStartWith('must be mailto: with an address');
    expect(faultOf(subject, { allowPrivateAddresses: true })).toBeUndefined();
  });

  it('is left to the schema if it is something else', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(faultOf(typeof value === 'string' ? 7 : value)).toBeUndefined();
        expect(vapidSubjectFault(value)).toBeUndefined();
      }),
    );
  });
});
