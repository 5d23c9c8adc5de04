import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  beamsToken,
  device,
  expectEmpty,
  INSTANCE,
  NEIGHBOUR,
  nowSeconds,
  reconfigure,
  refusal,
  registered,
  setUser,
  shownDevice,
  startPush,
  UNKNOWN,
} from '../exchange.ts';

const OPTIONS = {
  push: {
    publicUrl: 'https://push.example.test:8443',
    tokenIssuers: ['beams.test', 'old.test:444'],
  },
};

let server: Fanfare;
let id: string;
beforeAll(async () => {
  server = await startPush(OPTIONS);
  // Every test that sets its user sets the same one.
  id = await registered(server);
});
afterAll(() => server[Symbol.asyncDispose]());

const withHeaders = (headers: Readonly<Record<string, string>>) =>
  ask(server, 'PUT', device(`fcm/${id}/user`), { headers });

/** Refused, without the words that iOS would read as a problem with its push token. Source: push protocol, §3.3. */
async function expectRefused(
  token: string,
  status: number,
  error: string,
  why: string | RegExp = /./,
) {
  const answer = await setUser(server, id, token);
  expect(answer).toMatchObject(refusal(status, error, why));
  expect(answer.text).not.toMatch(/device token/i);
  expect(answer.text).not.toContain(token);
}

const hosted = `${INSTANCE.id}.pushnotifications.pusher.com`;

describe('a Beams Token is accepted', () => {
  it.each([
    ['as the libraries make it', beamsToken()],
    ['with iat', beamsToken({ iat: nowSeconds() })],
    ['with the other secret key', beamsToken({}, INSTANCE.nextKey)],
    ['with the issuer of the hosted service', beamsToken({ iss: `https://${hosted}` })],
    ['with an issuer without a scheme', beamsToken({ iss: hosted })],
    [
      "with this server's issuer",
      beamsToken({ iss: `https://${INSTANCE.id}.push.example.test:8443` }),
    ],
    ['with an issuer that is configured', beamsToken({ iss: `https://${INSTANCE.id}.beams.test` })],
    ['with a port in its issuer', beamsToken({ iss: `https://${INSTANCE.id}.old.test:444` })],
    [
      'with the instance in capitals',
      beamsToken({ iss: `https://${INSTANCE.id.toUpperCase()}.beams.test` }),
    ],
    ['with a fraction in its time', beamsToken({ exp: Date.now() / 1000 + 60.5 })],
    ['with a time far ahead', beamsToken({ exp: 99_999_999_999 })],
    ['that has expired half a minute ago', beamsToken({ exp: nowSeconds() - 30 })],
    ['without a type', beamsToken({}, INSTANCE.secretKey, { typ: undefined })],
    ['with other claims', beamsToken({ aud: 'x', jti: 'y', admin: true, __proto__x: 1 })],
  ])('%s', async (_, token) => {
    await expectEmpty(setUser(server, id, token));
    expect(await shownDevice(server, id)).toMatchObject({ userId: 'ann' });
  });

  it('after Bearer in any case', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER  ']) {
      await expectEmpty(withHeaders({ authorization: `${scheme} ${beamsToken()}` }));
    }
  });

  it('with content type and without a body, as iOS sends it', async () => {
    const authorization = `Bearer ${beamsToken()}`;
    await expectEmpty(withHeaders({ authorization, 'content-type': 'application/json' }));
  });
});

describe('401 is the answer to a Beams Token', () => {
  const [head = '', claims = '', signature = ''] = beamsToken().split('.');
  const other = Buffer.from(JSON.stringify({ sub: 'bob', exp: nowSeconds() + 60 })).toString(
    'base64url',
  );
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  const hs512 = Buffer.from('{"alg":"HS512"}').toString('base64url');

  it.each([
    ['with another key', beamsToken({}, 'wrong')],
    ['with the key of another instance', beamsToken({}, NEIGHBOUR.secretKey)],
    [
      'signed with the bytes that the key encodes in hex',
      beamsToken({}, Buffer.from(INSTANCE.secretKey, 'hex')),
    ],
    ['with no key', beamsToken({}, '')],
    ['with the instance as its key', beamsToken({}, INSTANCE.id)],
    ['with other claims than were signed', `${head}.${other}.${signature}`],
    ['without a signature', `${head}.${claims}.`],
    ['of two parts', `${head}.${claims}`],
    ['of four parts', `${head}.${claims}.${signature}.${signature}`],
    ['of five parts', `${head}.x.x.x.x`],
    ['with the algorithm none', `${none}.${claims}.`],
    ['with the algorithm none, and a signature', `${none}.${claims}.${signature}`],
    ['with the algorithm None', beamsToken({}, INSTANCE.secretKey, { alg: 'None' })],
    ['that says RS256', beamsToken({}, INSTANCE.secretKey, { alg: 'RS256' })],
    ['that says hs256', beamsToken({}, INSTANCE.secretKey, { alg: 'hs256' })],
    ['that names no algorithm', beamsToken({}, INSTANCE.secretKey, { alg: undefined })],
    [
      'with HS512',
      `${hs512}.${claims}.${createHmac('sha512', INSTANCE.secretKey).update(`${hs512}.${claims}`).digest('base64url')}`,
    ],
    ['with critical headers', beamsToken({}, INSTANCE.secretKey, { crit: ['exp'] })],
    ['that has expired', beamsToken({ exp: nowSeconds() - 120 })],
    ['that has expired long ago', beamsToken({ exp: 0 })],
    ['that expired before there was time', beamsToken({ exp: -1e300 })],
    ['that is not valid yet', beamsToken({ nbf: nowSeconds() + 3600 })],
    ['that is none', 'x'],
    ['that is dots', '..'],
    ['that is the secret key', INSTANCE.secretKey],
    ['that is far too long', `${head}.${'x'.repeat(9000)}.${signature}`],
    ['with a blank in it', `${head}. ${claims}.${signature}`],
    ['whose claims are no object', signedText('[]')],
    ['whose claims are no JSON', signedText('{')],
    ['whose claims are null', signedText('null')],
  ])('%s', async (_, token) => {
    await expectRefused(token, 401, 'Unauthorized');
  });

  it('that is missing or malformed', async () => {
    for (const headers of [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: beamsToken() },
      { authorization: `Basic ${beamsToken()}` },
      { authorization: `Token ${beamsToken()}` },
      { authorization: `Bearer${beamsToken()}` },
    ]) {
      const answer = await withHeaders(headers);
      expect(answer).toMatchObject(refusal(401, 'Unauthorized', /Authorization/));
      expect(answer.text).not.toMatch(/device token/i);
    }
  });

  it('whose signature is wrong, whatever its claims are', async () => {
    const claims = { sub: undefined, exp: undefined, iss: undefined };
    await expectRefused(beamsToken(claims, 'wrong'), 401, 'Unauthorized', /signature/);
  });
});

/** A token whose claims are any text. */
function signedText(text: string): string {
  const parts = ['{"alg":"HS256"}', text].map((part) => Buffer.from(part).toString('base64url'));
  const signed = parts.join('.');
  return `${signed}.${createHmac('sha256', INSTANCE.secretKey).update(signed).digest('base64url')}`;
}

describe('400 is the answer to a Beams Token', () => {
  it.each<[string, object]>([
    ['exp', { exp: undefined }],
    ['exp', { exp: null }],
    ['exp', { exp: String(nowSeconds() + 60) }],
    ['exp', { exp: true }],
    ['exp', { exp: {} }],
    ['sub', { sub: undefined }],
    ['sub', { sub: null }],
    ['sub', { sub: '' }],
    ['sub', { sub: 7 }],
    ['sub', { sub: ['ann'] }],
    ['sub', { sub: 'x'.repeat(165) }],
    ['sub', { sub: 'é'.repeat(83) }],
    ['sub', { sub: 'a\u0000' }],
    ['sub', { sub: '\ud800' }],
    ['iss', { iss: undefined }],
    ['iss', { iss: null }],
    ['iss', { iss: [`https://${hosted}`] }],
  ])('with a wrong %s: %j', async (claim, claims) => {
    await expectRefused(beamsToken(claims), 400, 'Bad Request', new RegExp(`\`${claim}\``));
  });

  it('whose time is too large for a number', async () => {
    const token = signedText(`{"sub":"ann","iss":"https://${hosted}","exp":1e400}`);
    await expectRefused(token, 400, 'Bad Request', /`exp`/);
  });
});

describe('403 is the answer to a Beams Token', () => {
  it.each([
    ['of another instance', `https://${NEIGHBOUR.id}.pushnotifications.pusher.com`],
    ['of an unknown instance', `https://${UNKNOWN}.pushnotifications.pusher.com`],
    ['of no instance', 'https://pushnotifications.pusher.com'],
    ['of another host', `https://${INSTANCE.id}.example.org`],
    ['of a host that begins alike', `https://${hosted}.example.org`],
    ['of a host that ends alike', `https://${INSTANCE.id}.xpushnotifications.pusher.com`],
    ['of another port', `https://${INSTANCE.id}.push.example.test`],
    ['with a path', `https://${hosted}/`],
    ['with a user', `https://x@${hosted}`],
    ['of another scheme', `ftp://${hosted}`],
    ['with two schemes', `https://https://${hosted}`],
    ['of the instance alone', INSTANCE.id],
    ['of an empty issuer', ''],
  ])('%s', async (_, iss) => {
    await expectRefused(beamsToken({ iss }), 403, 'Forbidden');
  });
});

it('sets a user whose id has 164 bytes, of any characters', async () => {
  for (const sub of ['x'.repeat(164), '😀'.repeat(41), ' ', '__proto__', 'a/b+c%20?', '\n']) {
    const device_ = await registered(server);
    await expectEmpty(setUser(server, device_, beamsToken({ sub })));
    expect(await shownDevice(server, device_)).toMatchObject({ userId: sub });
  }
});

it('follows the configured leeway, issuers and keys', async () => {
  await using own = await startPush({
    push: { tokenLeewaySeconds: 7200, tokenIssuers: ['beams.test'] },
  });
  const device_ = await registered(own);
  const sets = async (claims: object, key: string = INSTANCE.secretKey) =>
    (await setUser(own, device_, beamsToken(claims, key))).status;
  const late = { exp: nowSeconds() - 3600 };
  const [before, after] = ['beams.test', 'later.test'].map((host) => ({
    iss: `https://${INSTANCE.id}.${host}`,
  }));
  expect([await sets(late), await sets(before ?? {}), await sets(after ?? {})]).toEqual([
    200, 200, 403,
  ]);
  expect(await sets({}, INSTANCE.nextKey)).toBe(200);

  await reconfigure(own, {
    instance: { secretKeys: ['another-secret-key', INSTANCE.secretKey] },
    push: { tokenLeewaySeconds: 0, tokenIssuers: ['later.test'] },
  });
  expect([await sets(late), await sets(before ?? {}), await sets(after ?? {})]).toEqual([
    401, 403, 200,
  ]);
  expect(await sets({ exp: nowSeconds() - 2 })).toBe(401);
  expect([await sets({}, INSTANCE.nextKey), await sets({}, 'another-secret-key')]).toEqual([
    401, 200,
  ]);
});
