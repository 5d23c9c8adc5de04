import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { Outcome } from '../../push/gateway.ts';
import {
  accepted,
  notAuthorised,
  refused,
  refusedForAll,
  tokenGone,
  tryAgain,
} from '../outcomes.ts';
import { type ApnsVerdict, readApnsAnswer } from './apns-answer.ts';

const NOW_MS = 1_700_000_000_000;

function read(status: number, body: unknown, retryAfter?: string): ApnsVerdict {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return readApnsAnswer({ status, body: bytes, retryAfter }, NOW_MS);
}

/** Every row of push protocol, §8.1, "Responses". */
const rows: readonly (readonly [number, string, Outcome, ApnsVerdict['first']?])[] = [
  [400, 'BadDeviceToken', tokenGone('BadDeviceToken'), 'other-environment'],
  [400, 'DeviceTokenNotForTopic', tokenGone('DeviceTokenNotForTopic')],
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
  [400, 'IdleTimeout', tryAgain('IdleTimeout', 'gateway'), 'new-connection'],
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
  [410, 'ExpiredToken', tokenGone('ExpiredToken')],
  [410, 'Unregistered', tokenGone('Unregistered')],
  [413, 'PayloadTooLarge', refusedForAll('PayloadTooLarge')],
  [429, 'TooManyRequests', tryAgain('TooManyRequests', 'device')],
  [
    429,
    'TooManyProviderTokenUpdates',
    tryAgain('TooManyProviderTokenUpdates', 'gateway', 60_000),
    'new-connection',
  ],
  [500, 'InternalServerError', tryAgain('InternalServerError', 'gateway')],
  [503, 'ServiceUnavailable', tryAgain('ServiceUnavailable', 'gateway')],
  [503, 'Shutdown', tryAgain('Shutdown', 'gateway'), 'new-connection'],
];

describe('an answer of Apple', () => {
  it('of 200 means that it accepted the notification', () => {
    expect(read(200, '')).toEqual({ outcome: accepted });
  });

  for (const [status, reason, outcome, first] of rows) {
    it(`of ${status} ${reason} means ${outcome.result}`, () => {
      expect(read(status, { reason })).toEqual({ outcome, ...(first && { first }) });
    });
  }

  it('reports since when a token is gone', () => {
    const body = { reason: 'Unregistered', timestamp: 1_600_000_000_123 };
    expect(read(410, body).outcome).toEqual(tokenGone('Unregistered', 1_600_000_000_123));
  });

  it('reports how long to wait', () => {
    expect(read(429, { reason: 'TooManyRequests' }, '7').outcome).toEqual(
      tryAgain('TooManyRequests', 'device', 7000),
    );
    expect(read(503, { reason: 'ServiceUnavailable' }, '30').outcome).toEqual(
      tryAgain('ServiceUnavailable', 'gateway', 30_000),
    );
    expect(read(429, { reason: 'TooManyProviderTokenUpdates' }, '300').outcome).toEqual(
      tryAgain('TooManyProviderTokenUpdates', 'gateway', 300_000),
    );
  });

  it.each([
    [400, refused('http-400')],
    [401, notAuthorised('http-401')],
    [403, notAuthorised('http-403')],
    [404, refused('http-404')],
    [410, tokenGone('http-410')],
    [429, tryAgain('http-429', 'device')],
    [500, tryAgain('http-500', 'gateway')],
    [502, tryAgain('http-502', 'gateway')],
    [302, tryAgain('http-302', 'gateway')],
  ])('of %p is understood without a reason', (status, outcome) => {
    for (const body of ['', 'Bad Gateway', '[]', '{"reason":1}', '{"reason":"a b"}', '{"rea']) {
      expect(read(status, body)).toEqual({ outcome });
    }
  });

  it('is understood by its status if its reason is unknown', () => {
    expect(read(400, { reason: 'SomethingNew' }).outcome).toEqual(refused('SomethingNew'));
    expect(read(503, { reason: 'toString' }).outcome).toEqual(tryAgain('toString', 'gateway'));
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
