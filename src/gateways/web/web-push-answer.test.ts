import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { Outcome, TroubleScope } from '../../push/gateway.ts';
import { accepted, notAuthorised, refused, tokenGone, tryAgain } from '../outcomes.ts';
import { readWebPushAnswer, readWebPushResult } from './web-push-answer.ts';

const NOW_MS = Date.parse('2026-11-21T18:00:00Z');

function read(status: number, body: unknown = '', retryAfter?: string): Outcome {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return readWebPushAnswer({ status, retryAfter, body: Buffer.from(text) }, NOW_MS);
}

/** A refusal in the form of autopush. */
const mozilla = (status: number, errno: number, message = 'So it is') => ({
  code: status,
  errno,
  error: 'Not Found',
  message,
  more_info: 'http://autopush.readthedocs.io/en/latest/http.html#error-codes',
});

const again = (scope: TroubleScope) => (reason: string, afterMs?: number) =>
  tryAgain(reason, scope, afterMs);
const deviceAgain = again('device');
const serviceAgain = again('gateway');

describe('the answer of a push service', () => {
  it.each([200, 201, 202, 204])('of %d: the message is accepted', (status) => {
    expect(read(status, 'whatever')).toEqual(accepted);
  });

  it.each([404, 410])('of %d: the subscription is gone', (status) => {
    expect(read(status, 'push subscription has unsubscribed or expired.\n')).toEqual(
      tokenGone(`http-${status}`),
    );
  });

  it.each([
    [410, 999],
    [404, 999],
    [410, 201],
    [404, 201],
  ])(
    'of %d with errno %d of Mozilla, which says less: the subscription is gone',
    (status, errno) => {
      expect(read(status, mozilla(status, errno))).toEqual(tokenGone(`http-${status}`));
    },
  );

  it('has its words in header fields at Windows', () => {
    const headerWords = 'Ttl value conflicts, status dropped';
    const answer = { status: 400, retryAfter: undefined, body: Buffer.from(''), headerWords };
    expect(readWebPushAnswer(answer, NOW_MS)).toEqual(refused('http-400', headerWords));
  });

  it.each([
    [404, 102],
    [410, 103],
    [404, 105],
    [410, 106],
    // With any status.
    [400, 102],
    [400, 106],
  ])('of %d with errno %d of Mozilla: the subscription is gone', (status, errno) => {
    expect(read(status, mozilla(status, errno))).toEqual(tokenGone(`errno-${errno}`));
  });

  it.each([
    [400, 101],
    [413, 104],
    [400, 108],
    [400, 110],
    [400, 111],
    [400, 112],
    [400, 113],
  ])('of %d with errno %d of Mozilla: this message is refused', (status, errno) => {
    expect(read(status, mozilla(status, errno))).toEqual(refused(`errno-${errno}`, 'So it is'));
  });

  it.each(['BadWebPushTopic', 'BadTtl', 'PayloadEmpty'])(
    '400 with the reason %s of Apple: this message is refused',
    (reason) => {
      expect(read(400, { reason })).toEqual(refused(reason));
    },
  );

  it('of 400 without a known reason: this message is refused', () => {
    expect(read(400, '<h1>Bad</h1> request')).toEqual(refused('http-400', 'Bad request'));
    expect(read(413)).toEqual(refused('http-413'));
  });

  it.each([301, 302, 307, 308])('of %d: redirects are not followed', (status) => {
    expect(read(status)).toEqual(refused(`http-${status}`));
  });

  it('about a refused VAPID key, of Google, Mozilla and Apple', () => {
    const google =
      'the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.\n';
    expect(read(403, google)).toEqual(notAuthorised('http-403', google.trim()));
    expect(read(401, mozilla(401, 109))).toEqual(notAuthorised('errno-109', 'So it is'));
    for (const reason of ['BadJwtToken', 'ExpiredJwtToken', 'MissingJwtToken']) {
      expect(read(403, { reason })).toEqual(notAuthorised(reason));
    }
    expect(read(400, { reason: 'VapidPkHashMismatch' })).toEqual(
      notAuthorised('VapidPkHashMismatch'),
    );
  });

  it.each([
    ...[406, 408, 421, 425, 429].map((status) => [status, deviceAgain] as const),
    ...[500, 502, 503, 504, 507].map((status) => [status, serviceAgain] as const),
  ])('of %d: the message is tried again', (status, retry) => {
    expect(read(status)).toEqual(retry(`http-${status}`));
    expect(read(status, '', '120')).toEqual(retry(`http-${status}`, 120_000));
    expect(read(status, '', 'Sat, 21 Nov 2026 18:00:30 GMT')).toEqual(
      retry(`http-${status}`, 30_000),
    );
  });

  it('of an unavailable Mozilla service: tried again later, or at once', () => {
    expect(read(503, mozilla(503, 201))).toEqual(serviceAgain('errno-201'));
    expect(read(503, mozilla(503, 202))).toEqual(deviceAgain('errno-202', 1_000));
    expect(read(503, mozilla(503, 202), '9')).toEqual(deviceAgain('errno-202', 9_000));
    expect(read(500, mozilla(500, 999))).toEqual(serviceAgain('errno-999'));
  });

  it('about trouble with a bridge of Mozilla concerns one browser', () => {
    expect(read(502, mozilla(502, 902))).toEqual(deviceAgain('errno-902'));
  });

  it('has a short reason, and words without secrets, for any body', () => {
    const json = fc.record({
      errno: fc.jsonValue(),
      reason: fc.jsonValue(),
      message: fc.jsonValue(),
    });
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      json.map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 999 }), body, fc.string(), (status, text, after) => {
        const outcome = read(status, text, after);
        if (outcome.result === 'accepted') return;
        // No push service stops a publish for the browsers of others.
        if (outcome.result === 'refused') expect(outcome).not.toHaveProperty('scope');
        expect(outcome.reason).toMatch(/^[A-Za-z][\w-]{0,39}$/);
        if ('words' in outcome) expect(outcome.words.length).toBeLessThanOrEqual(200);
      }),
    );
  });

  it('without a valid number or reason has none', () => {
    for (const errno of ['106', 106.5, 99, 1000, null, [106]]) {
      expect(read(400, { errno, message: '' })).toEqual(refused('http-400'));
    }
    for (const reason of ['a b', 'x'.repeat(41), 7, {}, '']) {
      expect(read(400, { reason })).toEqual(refused('http-400'));
    }
  });
});

describe('a request that a push service does not answer', () => {
  it.each([
    ['silence', serviceAgain],
    ['unreachable', again('connection')],
    ['turned-away', serviceAgain],
    ['not-in-time', serviceAgain],
    ['no-answer', deviceAgain],
    ['reset', deviceAgain],
    ['connection-lost', deviceAgain],
    // Our own limit, reached because of other services.
    ['too-many-origins', deviceAgain],
  ] as const)('because of %s is tried again', (reason, retry) => {
    expect(readWebPushResult({ result: 'not-answered', reason }, NOW_MS)).toEqual(retry(reason));
  });

  it('is refused if the endpoint is too long', () => {
    expect(readWebPushResult({ result: 'not-answered', reason: 'too-large' }, NOW_MS)).toEqual(
      refused('too-large'),
    );
  });

  it('is refused if the address is private', () => {
    const words = '10.0.0.1 is not a public address (private)';
    expect(readWebPushResult({ result: 'not-allowed', words }, NOW_MS)).toEqual(
      refused('address-not-allowed', words),
    );
  });
});
