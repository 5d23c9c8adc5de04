import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { Outcome, TroubleScope } from '../../push/gateway.ts';
import { type ApnsVerdict, readApnsAnswer } from './apns-answer.ts';

const NOW_MS = 1_700_000_000_000;

function read(status: number, body: unknown, retryAfter?: string): ApnsVerdict {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return readApnsAnswer({ status, body: bytes, retryAfter }, NOW_MS);
}

const again = (reason: string, scope: TroubleScope, afterMs?: number): Outcome => ({
  result: 'try-again',
  reason,
  afterMs,
  scope,
});
const refused = (reason: string): Outcome => ({ result: 'refused', reason, words: '' });
const refusedForAll = (reason: string): Outcome => ({
  result: 'refused',
  reason,
  words: '',
  scope: 'publish',
});
const notAuthorised = (reason: string): Outcome => ({
  result: 'not-authorised',
  reason,
  words: '',
});
const gone = (reason: string, sinceMs?: number): Outcome => ({
  result: 'token-gone',
  reason,
  sinceMs,
});

/** Every row of push protocol, §8.1, "Responses". */
const rows: readonly (readonly [number, string, Outcome, ApnsVerdict['first']?])[] = [
  [400, 'BadDeviceToken', gone('BadDeviceToken'), 'other-environment'],
  [400, 'DeviceTokenNotForTopic', gone('DeviceTokenNotForTopic')],
  ...[
    'BadCollapseId',
    'BadExpirationDate',
    'BadMessageId',
    'BadPriority',
    'DuplicateHeaders',
    'InvalidPushType',
    'PayloadEmpty',
  ].map((reason) => [400, reason, refusedForAll(reason)] as const),
  // Faults of what the device registered with do not stop the publish.
  ...['BadTopic', 'MissingTopic', 'MissingDeviceToken', 'TopicDisallowed'].map(
    (reason) => [400, reason, refused(reason)] as const,
  ),
  [400, 'IdleTimeout', again('IdleTimeout', 'gateway'), 'new-connection'],
  [403, 'ExpiredProviderToken', notAuthorised('ExpiredProviderToken'), 'new-token'],
  [403, 'BadEnvironmentKeyInToken', notAuthorised('BadEnvironmentKeyInToken'), 'other-environment'],
  ...[
    'InvalidProviderToken',
    'MissingProviderToken',
    'BadCertificate',
    'BadCertificateEnvironment',
    'UnrelatedKeyIdInToken',
    'Forbidden',
  ].map((reason) => [403, reason, notAuthorised(reason)] as const),
  [404, 'BadPath', refused('BadPath')],
  [405, 'MethodNotAllowed', refusedForAll('MethodNotAllowed')],
  [410, 'ExpiredToken', gone('ExpiredToken')],
  [410, 'Unregistered', gone('Unregistered')],
  [413, 'PayloadTooLarge', refusedForAll('PayloadTooLarge')],
  [429, 'TooManyRequests', again('TooManyRequests', 'device')],
  [
    429,
    'TooManyProviderTokenUpdates',
    again('TooManyProviderTokenUpdates', 'gateway', 60_000),
    'new-connection',
  ],
  [500, 'InternalServerError', again('InternalServerError', 'gateway')],
  [503, 'ServiceUnavailable', again('ServiceUnavailable', 'gateway')],
  [503, 'Shutdown', again('Shutdown', 'gateway'), 'new-connection'],
];

describe('an answer of Apple', () => {
  it('of 200 means that it accepted the notification', () => {
    expect(read(200, '')).toEqual({ outcome: { result: 'accepted' } });
  });

  for (const [status, reason, outcome, first] of rows) {
    it(`of ${status} ${reason} means ${outcome.result}`, () => {
      expect(read(status, { reason })).toEqual({ outcome, ...(first && { first }) });
    });
  }

  it('says since when a token is gone', () => {
    const body = { reason: 'Unregistered', timestamp: 1_600_000_000_123 };
    expect(read(410, body).outcome).toEqual(gone('Unregistered', 1_600_000_000_123));
  });

  it('says how long to wait', () => {
    expect(read(429, { reason: 'TooManyRequests' }, '7').outcome).toEqual(
      again('TooManyRequests', 'device', 7000),
    );
    expect(read(503, { reason: 'ServiceUnavailable' }, '30').outcome).toEqual(
      again('ServiceUnavailable', 'gateway', 30_000),
    );
    expect(read(429, { reason: 'TooManyProviderTokenUpdates' }, '300').outcome).toEqual(
      again('TooManyProviderTokenUpdates', 'gateway', 300_000),
    );
  });

  it.each([
    [400, refused('http-400')],
    [401, notAuthorised('http-401')],
    [403, notAuthorised('http-403')],
    [404, refused('http-404')],
    [410, gone('http-410')],
    [429, again('http-429', 'device')],
    [500, again('http-500', 'gateway')],
    [502, again('http-502', 'gateway')],
    [302, again('http-302', 'gateway')],
  ])('of %p is understood without a reason', (status, outcome) => {
    for (const body of ['', 'Bad Gateway', '[]', '{"reason":1}', '{"reason":"a b"}', '{"rea']) {
      expect(read(status, body)).toEqual({ outcome });
    }
  });

  it('is understood by its status if its reason is unknown', () => {
    expect(read(400, { reason: 'SomethingNew' }).outcome).toEqual(refused('SomethingNew'));
    expect(read(503, { reason: 'toString' }).outcome).toEqual(again('toString', 'gateway'));
  });

  it('always means something', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 999 }),
        fc.oneof(fc.string(), fc.json()),
        fc.option(fc.string(), { nil: undefined }),
        (status, body, retryAfter) => {
          const { outcome } = read(status, body, retryAfter);
          if ('reason' in outcome) expect(outcome.reason).toMatch(/^[A-Za-z0-9-]{1,64}$/);
        },
      ),
    );
  });
});
