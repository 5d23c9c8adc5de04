import { describe, expect, it } from 'bun:test';
import { generateKeyPairSync, verify } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { OutgoingAnswer, SendUnowned } from '../../../outgoing/request.ts';
import { notAuthorised, tryAgain } from '../../outcomes.ts';
import { AccessTokens } from './access-token.ts';
import { credentialOf } from './assertion.ts';
import type { FcmTokenFault } from './token-answer.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const account = {
  projectId: 'shop-1234',
  clientEmail: 'fanfare@shop-1234.iam.gserviceaccount.com',
  privateKey,
  privateKeyId: 'key1',
  tokenUri: 'https://oauth2.example.test/token',
};

const START_MS = 1_700_000_000_000;
const MINUTE_MS = 60_000;

function answered(status: number, body: unknown, retryAfter?: string): OutgoingAnswer {
  const headers = new Headers(retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { result: 'answered', status, headers, body: Buffer.from(text) };
}

const granted = (token: string, seconds = 3599) =>
  answered(200, { access_token: token, expires_in: seconds, token_type: 'Bearer' });

/** Tokens from a Google that gives these answers in order, and repeats the last one. */
function asking(...answers: readonly OutgoingAnswer[]) {
  let nowMs = START_MS;
  let waits: Promise<void> | undefined;
  const requests: Parameters<SendUnowned>[0][] = [];
  const tokens = new AccessTokens({
    credential: credentialOf(account),
    nowMs: () => nowMs,
    async send(request) {
      const answer = answers[Math.min(requests.length, answers.length - 1)];
      requests.push(request);
      await waits;
      if (answer === undefined) throw new Error('nothing to answer');
      return answer;
    },
  });
  return {
    tokens,
    requests,
    pass(ms: number) {
      nowMs += ms;
    },
    /** Holds back all answers until the function that it returns is called. */
    holdAnswers() {
      const hold = Promise.withResolvers<void>();
      waits = hold.promise;
      return hold.resolve;
    },
    async value() {
      const token = await tokens.get();
      return token.ok ? token.field.value : token.fault;
    },
  };
}

describe('a request for an access token', () => {
  it('has an assertion signed by the account', async () => {
    const google = asking(granted('t'));
    expect(await google.value()).toBe('Bearer t');
    const [request] = google.requests;
    expect(request).toMatchObject({
      url: account.tokenUri,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      timeoutMs: 10_000,
    });
    const form = new URLSearchParams(String(request?.body));
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const [head = '', claims = '', signature = ''] = form.get('assertion')?.split('.') ?? [];
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(decode(head)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key1' });
    expect(decode(claims)).toEqual({
      iss: account.clientEmail,
      scope: 'https://www.googleapis.com/auth/firebase.messaging',
      aud: account.tokenUri,
      iat: START_MS / 1000 - 30,
      exp: START_MS / 1000 + 3570,
    });
    const signed = Buffer.from(`${head}.${claims}`);
    expect(verify('sha256', signed, publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
  });
});

describe('an access token', () => {
  it('is requested once for all that wait for it', async () => {
    const google = asking(granted('t'));
    const values = await Promise.all([google.value(), google.value(), google.value()]);
    expect(values).toEqual(['Bearer t', 'Bearer t', 'Bearer t']);
    google.pass(54 * MINUTE_MS);
    await google.value();
    expect(google.requests).toHaveLength(1);
  });

  it('is renewed in the background five minutes before its end', async () => {
    const google = asking(granted('old'), granted('new'));
    await google.value();
    google.pass(55 * MINUTE_MS);
    const answer = google.holdAnswers();
    expect([await google.value(), await google.value()]).toEqual(['Bearer old', 'Bearer old']);
    expect(google.requests).toHaveLength(2);
    answer();
    while ((await google.value()) === 'Bearer old') await setImmediate();
    expect(await google.value()).toBe('Bearer new');
    expect(google.requests).toHaveLength(2);
  });

  it('is renewed halfway if it is short-lived', async () => {
    const google = asking(granted('old', 120), granted('new', 120));
    await google.value();
    google.pass(59_000);
    await google.value();
    expect(google.requests).toHaveLength(1);
    google.pass(1_000);
    await google.value();
    expect(google.requests).toHaveLength(2);
  });

  it('is waited for if the last one has expired', async () => {
    const google = asking(granted('old'), granted('new'));
    await google.value();
    google.pass(60 * MINUTE_MS);
    expect(await google.value()).toBe('Bearer new');
  });

  it('is used until it expires while Google is unavailable', async () => {
    const google = asking(granted('old'), { result: 'timeout' });
    await google.value();
    for (let minute = 0; minute < 59; minute++) {
      expect(await google.value()).toBe('Bearer old');
      google.pass(MINUTE_MS);
    }
    google.pass(MINUTE_MS);
    expect(await google.value()).toMatchObject({ reason: 'access-token-no-answer' });
  });

  it('is replaced if FCM refuses it, but once a minute at most', async () => {
    const google = asking(granted('a'), granted('b'), granted('c'));
    const first = await google.tokens.get();
    if (!first.ok) throw new Error('no token');
    // Two messages were refused with the same token.
    const [one, two] = await Promise.all([
      google.tokens.replace(first.field),
      google.tokens.replace(first.field),
    ]);
    if (!one.ok || !two.ok) throw new Error('no token');
    expect([one.field.value, two.field.value]).toEqual(['Bearer b', 'Bearer b']);
    // A third one, in flight with the old token, gets the new one.
    expect(await google.tokens.replace(first.field)).toEqual(one);
    expect(await google.tokens.replace(one.field)).toEqual(one);
    google.pass(MINUTE_MS);
    expect(await google.tokens.replace(one.field)).toMatchObject({ field: { value: 'Bearer c' } });
    expect(google.requests).toHaveLength(3);
  });

  it('is given up when the gateway is closed', async () => {
    const google = asking(granted('t'));
    await google.value();
    google.tokens[Symbol.dispose]();
    expect(google.requests[0]?.signal?.aborted).toBe(true);
  });
});

describe('a Google that issues no access token', () => {
  const away = (reason: string, afterMs?: number) => tryAgain(reason, 'connection', afterMs);
  const wrong = (reason: string, words = ''): FcmTokenFault => ({
    ...notAuthorised(reason, words),
    scope: 'connection',
  });

  it.each([
    [{ result: 'timeout' }, away('access-token-no-answer')],
    [{ result: 'unreachable', why: 'ECONNREFUSED' }, away('access-token-unreachable')],
    [answered(503, 'Sorry'), away('access-token-http-503')],
    [answered(503, '', '30'), away('access-token-http-503', 30_000)],
    [answered(429, ''), away('access-token-http-429')],
    [answered(302, ''), away('access-token-http-302')],
    [answered(400, { error: 'internal_failure' }), away('access-token-internal_failure')],
    [answered(200, '<html>Log in</html>'), away('access-token-no-access-token')],
    [answered(200, { access_token: 'a\r\nb' }), away('access-token-no-access-token')],
  ] as const)('is unavailable (%#)', async (answer, fault) => {
    expect(await asking(answer).value()).toEqual(fault);
  });

  it.each([
    [
      answered(400, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }),
      wrong('access-token-invalid_grant', 'Invalid JWT Signature.'),
    ],
    [answered(401, { error: 'invalid_client' }), wrong('access-token-invalid_client')],
    [answered(404, 'Not found'), wrong('access-token-http-404')],
    [answered(400, { error: '<b>' }), wrong('access-token-http-400')],
    [
      { result: 'not-allowed', why: 'not an http or https address' },
      wrong('access-token-address-not-allowed', 'not an http or https address'),
    ],
  ] as const)('refuses the account (%#)', async (answer, fault) => {
    expect(await asking(answer).value()).toEqual(fault);
  });

  it('is asked again after a second, then after growing pauses', async () => {
    const google = asking({ result: 'timeout' });
    const gaps: number[] = [];
    let lastAt = 0;
    for (let second = 0; second < 400; second++) {
      const before = google.requests.length;
      await google.value();
      if (google.requests.length > before) {
        gaps.push(second - lastAt);
        lastAt = second;
      }
      google.pass(1_000);
    }
    expect(gaps).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]);
  });

  it('is asked again after the pause that it wants, and outcomes have the rest of it', async () => {
    const google = asking(answered(503, '', '30'), granted('t'));
    await google.value();
    google.pass(29_000);
    expect(await google.value()).toEqual(away('access-token-http-503', 1_000));
    google.pass(1_000);
    expect(await google.value()).toBe('Bearer t');
  });

  it('is asked again a minute after it refused the account', async () => {
    const refusal = answered(400, { error: 'invalid_grant' });
    const google = asking(refusal, granted('t'));
    await google.value();
    google.pass(59_000);
    expect(await google.value()).toEqual(wrong('access-token-invalid_grant'));
    expect(google.requests).toHaveLength(1);
    google.pass(1_000);
    expect(await google.value()).toBe('Bearer t');
  });

  it('is asked at once after the clock was set back', async () => {
    const google = asking({ result: 'timeout' }, granted('t'));
    await google.value();
    google.pass(-60 * MINUTE_MS);
    expect(await google.value()).toBe('Bearer t');
  });
});
