import { describe, expect, it } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { readServiceAccount } from './service-account.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }));

/** In Google's form. */
const file = {
  type: 'service_account',
  project_id: 'shop-1234',
  private_key_id: '0123456789abcdef',
  private_key: pem,
  client_email: 'fanfare@shop-1234.iam.gserviceaccount.com',
  client_id: '1234',
  auth_uri: 'https://accounts.google.com/o/oauth2/auth',
  token_uri: 'https://oauth2.googleapis.com/token',
};

const read = (value: unknown) => readServiceAccount(Buffer.from(JSON.stringify(value)));

describe('the file of a service account', () => {
  it('is read', () => {
    const result = read(file);
    if (!result.ok) throw new Error(result.why);
    const { privateKey: key, ...account } = result.account;
    expect(key.equals(privateKey)).toBe(true);
    expect(account).toEqual({
      projectId: 'shop-1234',
      clientEmail: 'fanfare@shop-1234.iam.gserviceaccount.com',
      privateKeyId: '0123456789abcdef',
      tokenUri: 'https://oauth2.googleapis.com/token',
    });
  });

  it('needs only the required fields', () => {
    const { project_id, private_key, client_email } = file;
    expect(read({ project_id, private_key, client_email })).toMatchObject({
      ok: true,
      account: { privateKeyId: undefined, tokenUri: 'https://oauth2.googleapis.com/token' },
    });
  });

  it('may have an old project id, and another token URI', () => {
    expect(
      read({ ...file, project_id: 'example.com:shop', token_uri: 'http://fake:6012/token' }),
    ).toMatchObject({
      ok: true,
      account: { projectId: 'example.com:shop', tokenUri: 'http://fake:6012/token' },
    });
  });

  it.each([
    [{ ...file, type: 'authorized_user' }, 'its type is not "service_account"'],
    [{ ...file, project_id: undefined }, 'its project_id is missing or malformed'],
    [{ ...file, project_id: '../secrets' }, 'its project_id is missing or malformed'],
    [{ ...file, client_email: 'a\nb@c' }, 'its client_email is missing or malformed'],
    [{ ...file, client_email: 7 }, 'its client_email is missing or malformed'],
    [{ ...file, token_uri: 'file:///etc/passwd' }, 'its token_uri is not an http or https address'],
    [{ ...file, token_uri: ['a'] }, 'its token_uri is not an http or https address'],
    [{ ...file, private_key: undefined }, 'its private_key is missing'],
    [{ ...file, private_key: pem.slice(0, 200) }, 'its private_key is not a private key in PEM'],
    [
      { ...file, private_key: String(publicKey.export({ format: 'pem', type: 'spki' })) },
      'its private_key is not a private key in PEM',
    ],
    [
      { project_info: { project_id: 'shop-1234' }, client: [] },
      'it is the google-services.json of an app; the file of a service account is needed',
    ],
    [[], 'it is not a JSON object'],
  ])('is refused with the reason (%#)', (value, why) => {
    expect(read(value)).toEqual({ ok: false, why });
  });

  it('is refused with an e-mail address of many parts', () => {
    const why = 'its client_email is missing or malformed';
    const value = { ...file, client_email: '@!'.repeat(200_000) };
    expect(read(value)).toEqual({ ok: false, why });
    // A pattern that takes quadratic time needs ten seconds or more.
  }, 5_000);

  it.each([
    generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey,
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  ])('needs an RSA key of 2048 bits (%#)', (key) => {
    const private_key = String(key.export({ format: 'pem', type: 'pkcs8' }));
    expect(read({ ...file, private_key })).toEqual({
      ok: false,
      why: 'its private_key is not an RSA key of at least 2048 bits',
    });
  });

  it('is never quoted in the reason', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(file)), fc.jsonValue(), (name, value) => {
        const result = read({ ...file, [name]: value });
        if (!result.ok) expect(result.why).toMatch(/^(its \w+ is|it is) [\w "]+(, |[\w .;-]*)*/);
      }),
      { numRuns: 50 },
    );
    const secret = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC';
    expect(JSON.stringify(read({ ...file, private_key: secret }))).not.toContain(secret);
  });
});
