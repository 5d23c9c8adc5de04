import { describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import PushNotifications from '@pusher/push-notifications-server';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { PushRefusal } from '../refusal.ts';
import { verifyBeamsToken } from './beams-token.ts';

const id = '8f9a6e22-2483-49aa-8552-125f1a4c5781';
const instance = { id, secretKeys: ['old secret', 'C54D42FB7CD2D408'] };
const nowSeconds = 1_700_000_000;
const options = { nowSeconds, leewaySeconds: 60, hosts: ['push.example.org', 'localhost:6002'] };

const claims = {
  sub: 'u-1',
  iss: `https://${id}.pushnotifications.pusher.com`,
  exp: nowSeconds + 86_400,
};
const header = { alg: 'HS256', typ: 'JWT' };

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function signText(text: string, secret = 'C54D42FB7CD2D408', hash = 'sha256'): string {
  return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`;
}

function sign(payload: unknown, head: unknown = header): string {
  return signText(`${encode(head)}.${encode(payload)}`);
}

const verify = (token: string) => verifyBeamsToken(token, instance, options);
const problemOf = (token: string) => {
  const result = verify(token);
  return result instanceof PushRefusal ? result.problem : result.userId;
};

describe('a Beams Token', () => {
  it('of the Node.js library is verified', () => {
    for (const secretKey of instance.secretKeys) {
      const library = new PushNotifications({ instanceId: id, secretKey });
      const { token } = library.generateToken('ü-1');
      const now = { ...options, nowSeconds: Math.floor(Date.now() / 1000) };
      expect(verifyBeamsToken(token, instance, now)).toEqual({ ok: true, userId: 'ü-1' });
    }
  });

  it('may be signed with any secret key, whose text is the key', () => {
    const text = `${encode(header)}.${encode(claims)}`;
    expect(verify(signText(text, 'old secret'))).toEqual({ ok: true, userId: 'u-1' });
    expect(problemOf(signText(text, 'another'))).toBe('unauthorized');
    const bytes = createHmac('sha256', Buffer.from('C54D42FB7CD2D408', 'hex'));
    expect(problemOf(`${text}.${bytes.update(text).digest('base64url')}`)).toBe('unauthorized');
    expect(verifyBeamsToken(sign(claims), { id, secretKeys: [] }, options)).toBeInstanceOf(
      PushRefusal,
    );
    expect(verifyBeamsToken(sign(claims), { id, secretKeys: ['clé'] }, options)).toBeInstanceOf(
      PushRefusal,
    );
    const accented = signText(text, 'clé');
    expect(verifyBeamsToken(accented, { id, secretKeys: ['clé'] }, options)).toMatchObject({
      ok: true,
    });
  });

  it.each<unknown>([
    { alg: 'none' },
    { alg: 'hs256' },
    { alg: 'HS384' },
    { alg: 'HS512' },
    { alg: 'RS256' },
    { alg: ['HS256'] },
    { alg: null },
    { typ: 'JWT' },
    { ...header, crit: ['b64'] },
    { ...header, crit: null },
  ])('must be signed with HS256: %j', (head) => {
    expect(problemOf(sign(claims, head))).toBe('unauthorized');
  });

  it('may be of any type', () => {
    expect(verify(sign(claims, { alg: 'HS256' }))).toMatchObject({ ok: true });
    expect(verify(sign(claims, { alg: 'HS256', typ: 7, kid: 'x' }))).toMatchObject({ ok: true });
  });

  it('is refused without a signature, whatever its header says', () => {
    const text = `${encode({ alg: 'none' })}.${encode(claims)}`;
    for (const token of [`${text}.`, text, `${text}.x`]) {
      expect(problemOf(token)).toBe('unauthorized');
    }
    const [head, , signature] = sign(claims).split('.');
    const other = encode({ ...claims, sub: 'u-2' });
    expect(problemOf(`${head}.${other}.${signature}`)).toBe('unauthorized');
    expect(problemOf(sign(claims).slice(0, -1))).toBe('unauthorized');
    expect(problemOf(signText(`${encode(header)}.${encode(claims)}`, undefined, 'sha512'))).toBe(
      'unauthorized',
    );
  });

  it.each([
    '',
    '..',
    'a.b',
    'a.b.c',
    'a.b.c.d',
    ` ${sign(claims)}`,
    `${sign(claims)}\n`,
    `${sign(claims)}=`,
    `${sign(claims)}.x`,
    `Bearer ${sign(claims)}`,
    sign(claims, []),
    sign([]),
    sign('x'),
    sign({ ...claims, more: 'x'.repeat(8192) }),
  ])('must be a JWT: %.60s', (token) => {
    expect(problemOf(token)).toBe('unauthorized');
  });

  it('has at most 8192 characters', () => {
    // Base64url of one part cannot have every length.
    const ofLength = (length: number) => {
      for (const kid of ['', 'x', 'xx', 'xxx']) {
        const least = sign({ ...claims, more: '' }, { ...header, kid }).length;
        const more = 'x'.repeat(Math.round((length - least) * 0.75));
        const token = sign({ ...claims, more }, { ...header, kid });
        if (token.length === length) return token;
      }
      throw new Error(`no token has ${length} characters`);
    };
    expect(verify(ofLength(8192))).toMatchObject({ ok: true });
    expect(problemOf(ofLength(8193))).toBe('unauthorized');
  });

  it.each([
    ['exp', undefined],
    ['exp', null],
    ['exp', '1700086400'],
    ['sub', undefined],
    ['sub', null],
    ['sub', 7],
    ['sub', ''],
    ['sub', 'x'.repeat(165)],
    ['sub', 'é'.repeat(83)],
    ['sub', 'a\u0000'],
    ['iss', undefined],
    ['iss', null],
    ['iss', 7],
    ['iss', [claims.iss]],
    ['nbf', 'now'],
  ])('must not have the claim %s as %j', (claim, value) => {
    const result = verify(sign({ ...claims, [claim]: value }));
    expect(result).toMatchObject({ problem: 'bad-device-request' });
    expect(result instanceof PushRefusal && result.description).toContain(`\`${claim}\``);
  });

  it('has a user id of 1 to 164 bytes', () => {
    for (const sub of ['x', 'x'.repeat(164), 'é'.repeat(82)]) {
      expect(verify(sign({ ...claims, sub }))).toEqual({ ok: true, userId: sub });
    }
  });

  it.each([
    `https://${id}.pushnotifications.pusher.com`,
    `http://${id}.pushnotifications.pusher.com`,
    `${id}.pushnotifications.pusher.com`,
    `https://${id.toUpperCase()}.pushnotifications.pusher.com`,
    `https://${id}.push.example.org`,
    `${id}.push.example.org`,
    `http://${id}.localhost:6002`,
  ])('may be issued by %s', (iss) => {
    expect(verify(sign({ ...claims, iss }))).toMatchObject({ ok: true });
  });

  it.each([
    '',
    id,
    'https://pushnotifications.pusher.com',
    'https://11111111-2483-49aa-8552-125f1a4c5781.pushnotifications.pusher.com',
    `https://x${id}.pushnotifications.pusher.com`,
    `https://${id}.pushnotifications.pusher.com/`,
    `https://${id}.pushnotifications.pusher.com.evil.example`,
    `https://${id}.evil.example`,
    `https://${id}.sub.push.example.org`,
    `https://https://${id}.push.example.org`,
    `ftp://${id}.push.example.org`,
    `${id}.https://push.example.org`,
    `https://${id}.localhost`,
  ])('is not issued by %s', (iss) => {
    expect(problemOf(sign({ ...claims, iss }))).toBe('forbidden');
  });

  it('may be issued by a host in any case', () => {
    const hosts = ['Push.Example.NET'];
    const token = sign({ ...claims, iss: `https://${id}.push.example.net` });
    expect(verifyBeamsToken(token, instance, { ...options, hosts })).toMatchObject({ ok: true });
    expect(problemOf(token)).toBe('forbidden');
  });

  it('must have an expiry', () => {
    const json = JSON.stringify({ ...claims, exp: 0 }).replace('"exp":0', '"exp":1e999');
    const payload = Buffer.from(json).toString('base64url');
    expect(problemOf(signText(`${encode(header)}.${payload}`))).toBe('bad-device-request');
  });

  it('is still accepted within the leeway after it expires', () => {
    expect(problemOf(sign({ ...claims, exp: nowSeconds - 59 }))).toBe('u-1');
    expect(problemOf(sign({ ...claims, exp: nowSeconds - 59.5 }))).toBe('u-1');
    expect(problemOf(sign({ ...claims, exp: nowSeconds - 60 }))).toBe('unauthorized');
    expect(problemOf(sign({ ...claims, exp: -1 }))).toBe('unauthorized');
    expect(problemOf(sign({ ...claims, exp: nowSeconds + 0.5 }))).toBe('u-1');
  });

  it('is already accepted within the leeway before it is valid', () => {
    expect(problemOf(sign({ ...claims, nbf: nowSeconds + 60 }))).toBe('u-1');
    expect(problemOf(sign({ ...claims, nbf: nowSeconds + 61 }))).toBe('unauthorized');
    expect(problemOf(sign({ ...claims, nbf: null }))).toBe('u-1');
    expect(problemOf(sign({ ...claims, iat: 'nonsense' }))).toBe('u-1');
  });

  it('is refused for the first rule that it breaks', () => {
    const wrong = { sub: '', iss: 'x', exp: 0 };
    const unsigned = `${encode(header)}.${encode(wrong)}.x`;
    expect(problemOf(unsigned)).toBe('unauthorized');
    expect(problemOf(sign(wrong))).toBe('bad-device-request');
    expect(problemOf(sign({ ...wrong, sub: 'u' }))).toBe('forbidden');
    expect(problemOf(sign({ ...wrong, sub: 'u', iss: claims.iss }))).toBe('unauthorized');
  });

  it('is refused without words that the iOS SDK mistakes for a push token problem, and is never quoted', () => {
    const tokens = [
      'x',
      sign(claims, { alg: 'none' }),
      sign(claims, { ...header, crit: 1 }),
      `${sign(claims)}x`,
      sign([]),
      sign({ ...claims, iss: 'secret-issuer' }),
      sign({ ...claims, exp: 0 }),
      sign({ ...claims, exp: 'secret' }),
      sign({ ...claims, nbf: 9e9 }),
      sign({ ...claims, sub: 'secret'.repeat(50) }),
    ];
    for (const token of tokens) {
      const result = verify(token);
      expect(result instanceof PushRefusal && result.description).not.toMatch(
        /device token|secret-|secretsecret/i,
      );
      expect(result).toBeInstanceOf(PushRefusal);
      expect(JSON.stringify(result)).not.toContain('C54D42FB7CD2D408');
    }
  });

  it('is verified or refused, for any input', () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<fc.JsonValue>(claims.iss, claims.exp, 'u'),
    );
    const fields = fc.dictionary(fc.constantFrom('sub', 'iss', 'exp', 'nbf'), value);
    const signed = fields.map((some) => sign(some));
    const nearlyRight = fields.map((some) => sign({ ...claims, ...some }));
    const tokens = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.string({ unit: fc.constantFrom(...'eyJ.-_=') }),
      fc
        .tuple(fc.base64String(), fc.base64String(), fc.base64String())
        .map((parts) => parts.join('.')),
      signed,
      nearlyRight,
    );
    fc.assert(
      fc.property(tokens, (token) => {
        const result = verify(token);
        if (result instanceof PushRefusal) {
          expect(['unauthorized', 'bad-device-request', 'forbidden']).toContain(result.problem);
        } else expect(result.userId).not.toBe('');
      }),
    );
  });
});
