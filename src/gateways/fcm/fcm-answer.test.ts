import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { Outcome } from '../../push/gateway.ts';
import * as outcomes from '../outcomes.ts';
import { type FcmVerdict, readFcmAnswer } from './fcm-answer.ts';

const NOW_MS = 1_700_000_000_000;

function read(status: number, body: unknown, retryAfter?: string): FcmVerdict {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return readFcmAnswer({ status, body: bytes, retryAfter }, NOW_MS);
}

/** An error in Google's form. */
function error(
  status: string,
  errorCode?: string,
  more: { readonly message?: string; readonly details?: readonly object[] } = {},
) {
  const { message = '', details = [] } = more;
  const own = errorCode === undefined ? [] : [{ '@type': FCM_ERROR, errorCode }];
  return { error: { code: 0, message, status, details: [...own, ...details] } };
}

const FCM_ERROR = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';

/** A verdict that is only an outcome. */
function only<Given extends readonly unknown[]>(
  make: (...given: Given) => Outcome,
): (...given: Given) => FcmVerdict {
  return (...given) => ({ outcome: make(...given) });
}

const again = only(outcomes.tryAgain);
const refused = only(outcomes.refused);
const refusedForAll = only(outcomes.refusedForAll);
const notAuthorised = only(outcomes.notAuthorised);
const gone = only(outcomes.tokenGone);
const overQuota = (reason: string, afterMs = 60_000): FcmVerdict => ({
  ...again(reason, 'gateway', afterMs),
  isOverQuota: true,
});

/** Every row of push protocol, §8.2, "Errors". */
const rows: readonly (readonly [number, string, string, FcmVerdict])[] = [
  [400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', refused('INVALID_ARGUMENT')],
  [404, 'NOT_FOUND', 'UNREGISTERED', gone('UNREGISTERED')],
  [403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH', gone('SENDER_ID_MISMATCH')],
  [403, 'PERMISSION_DENIED', 'PERMISSION_DENIED', notAuthorised('PERMISSION_DENIED')],
  [401, 'UNAUTHENTICATED', 'THIRD_PARTY_AUTH_ERROR', refused('THIRD_PARTY_AUTH_ERROR')],
  [
    401,
    'UNAUTHENTICATED',
    'UNAUTHENTICATED',
    { ...notAuthorised('UNAUTHENTICATED'), first: 'new-access-token' },
  ],
  [429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED', overQuota('QUOTA_EXCEEDED')],
  [503, 'UNAVAILABLE', 'UNAVAILABLE', again('UNAVAILABLE', 'gateway')],
  [500, 'INTERNAL', 'INTERNAL', again('INTERNAL', 'gateway')],
];

describe('an answer of FCM', () => {
  it('of 200 means that it accepted the message', () => {
    expect(read(200, { name: 'projects/shop/messages/1' })).toEqual({
      outcome: outcomes.accepted,
    });
  });

  for (const [status, name, errorCode, verdict] of rows) {
    it(`of ${errorCode} means ${verdict.outcome.result}`, () => {
      expect(read(status, error(name, errorCode))).toEqual(verdict);
    });
  }

  it.each([
    [400, 'INVALID_ARGUMENT', refused('INVALID_ARGUMENT')],
    [400, 'FAILED_PRECONDITION', refused('FAILED_PRECONDITION')],
    // An unknown project, for example: no device may be removed for that.
    [404, 'NOT_FOUND', refused('NOT_FOUND')],
    [403, 'PERMISSION_DENIED', notAuthorised('PERMISSION_DENIED')],
    [
      401,
      'UNAUTHENTICATED',
      { ...notAuthorised('UNAUTHENTICATED'), first: 'new-access-token' as const },
    ],
    [429, 'RESOURCE_EXHAUSTED', overQuota('RESOURCE_EXHAUSTED')],
    [409, 'ABORTED', again('ABORTED', 'device')],
    [499, 'CANCELLED', again('CANCELLED', 'device')],
    [500, 'UNKNOWN', again('UNKNOWN', 'gateway')],
    [503, 'UNAVAILABLE', again('UNAVAILABLE', 'gateway')],
    [504, 'DEADLINE_EXCEEDED', again('DEADLINE_EXCEEDED', 'gateway')],
  ])('of %d %s is understood by its status', (status, name, verdict) => {
    expect(read(status, error(name))).toEqual(verdict);
  });

  it.each([
    [400, refused('http-400')],
    [401, { ...notAuthorised('http-401'), first: 'new-access-token' as const }],
    [403, notAuthorised('http-403')],
    [404, refused('http-404')],
    [408, again('http-408', 'device')],
    [413, refused('http-413')],
    [429, overQuota('http-429')],
    [500, again('http-500', 'gateway')],
    [502, again('http-502', 'gateway')],
    [302, again('http-302', 'gateway')],
  ])('of %p is understood without a body', (status, verdict) => {
    for (const body of ['', '[]', '{"error":1}', '{"error":{"status":"a b"}}', '{"err']) {
      expect(read(status, body)).toEqual(verdict);
    }
  });

  it('is understood by its status if the code is unknown', () => {
    expect(read(400, error('INVALID_ARGUMENT', 'SOMETHING_NEW'))).toEqual(refused('SOMETHING_NEW'));
    expect(read(503, error('SOMETHING_NEW'))).toEqual(again('SOMETHING_NEW', 'gateway'));
  });

  it.each(['message.token', 'message.fid'])(
    'that complains of %s means that it is gone',
    (field) => {
      const details = [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field, description: 'Invalid registration token' }],
        },
      ];
      expect(read(400, error('INVALID_ARGUMENT', 'INVALID_ARGUMENT', { details }))).toEqual(
        gone('INVALID_ARGUMENT'),
      );
      expect(read(400, error('INVALID_ARGUMENT', undefined, { details }))).toEqual(
        gone('INVALID_ARGUMENT'),
      );
    },
  );

  it('that names the token only in its message means that the token is gone', () => {
    const message = 'The registration token is not a valid FCM registration token';
    expect(read(400, error('INVALID_ARGUMENT', 'INVALID_ARGUMENT', { message }))).toEqual(
      gone('INVALID_ARGUMENT'),
    );
  });

  it('about the message stops the publish', () => {
    const details = [
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field: 'message.android.ttl', description: 'Invalid' }],
      },
    ];
    const message = 'Invalid value at message.android.ttl';
    expect(read(400, error('INVALID_ARGUMENT', 'INVALID_ARGUMENT', { message, details }))).toEqual(
      refusedForAll('INVALID_ARGUMENT', message),
    );
  });

  it.each(['Android message is too big', 'Message too big: 5000 bytes'])(
    'with the text "%s" concerns all devices',
    (message) => {
      expect(read(400, error('INVALID_ARGUMENT', 'INVALID_ARGUMENT', { message }))).toEqual(
        refusedForAll('INVALID_ARGUMENT', message),
      );
    },
  );

  it('about the token, or about no field, does not stop the publish', () => {
    const complaints = [
      [],
      ['message.token'],
      ['message.fid'],
      ['message.android.ttl', 'message.token'],
      ['message'],
      [''],
      [7],
    ];
    for (const fields of complaints) {
      const details = [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: fields.map((field) => ({ field, description: 'Invalid' })),
        },
      ];
      const { outcome } = read(400, error('INVALID_ARGUMENT', 'INVALID_ARGUMENT', { details }));
      expect(outcome).not.toHaveProperty('scope');
    }
  });

  it('reports how long to wait', () => {
    expect(read(429, error('RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'), '90')).toEqual(
      overQuota('QUOTA_EXCEEDED', 90_000),
    );
    expect(read(503, error('UNAVAILABLE', 'UNAVAILABLE'), '7')).toEqual(
      again('UNAVAILABLE', 'gateway', 7000),
    );
  });

  it('about the quota of one device concerns no other', () => {
    const details = [
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: [{ subject: 'device:1', description: 'Device message rate exceeded' }],
      },
    ];
    expect(read(429, error('RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED', { details }))).toEqual(
      again('QUOTA_EXCEEDED', 'device', 60_000),
    );
  });

  it('always means something', () => {
    const details = fc.array(
      fc.record(
        {
          '@type': fc.constantFrom(
            FCM_ERROR,
            'type.googleapis.com/google.rpc.BadRequest',
            'type.googleapis.com/google.rpc.QuotaFailure',
          ),
          errorCode: fc.jsonValue(),
          fieldViolations: fc.jsonValue(),
          violations: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    );
    const bodies = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .record({ status: fc.jsonValue(), message: fc.jsonValue(), details })
        .map((inner) => JSON.stringify({ error: inner })),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 999 }),
        bodies,
        fc.option(fc.string(), { nil: undefined }),
        (status, body, retryAfter) => {
          const { outcome } = read(status, body, retryAfter);
          if ('reason' in outcome) expect(outcome.reason).toMatch(/^[A-Z_]{2,64}$|^http-\d{3}$/);
        },
      ),
    );
  });
});
