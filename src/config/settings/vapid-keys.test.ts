import { describe, expect, it } from 'bun:test';
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  configIn,
  instance,
  loadJson,
  problemsIn,
  vapid,
  workingDirectory,
} from '../loading.fixture.ts';
import { PRIVATE_KEY_RULE, readVapidPair, readVapidPrivateKey } from './vapid-keys.ts';

/** What is read of the VAPID settings of an instance. */
function loadVapid(keys: object) {
  return loadJson({ push: { instances: [{ ...instance, web: { vapid: { ...keys, subject } } }] } });
}

function vapidIn(keys: object) {
  return configIn(loadVapid(keys)).push.instances?.[0]?.web?.vapid;
}

const { publicKey, privateKey, subject } = vapid;
const bytes = Buffer.from(privateKey, 'base64url');
const key = keyOf(publicKey, privateKey);
const der = (type: 'pkcs8' | 'sec1') => key.export({ format: 'der', type }).toString('base64');
const pem = (type: 'pkcs8' | 'sec1', of = key) => of.export({ format: 'pem', type }).toString();

/** Begins with a zero byte, which some libraries leave out. */
const SHORT = Buffer.from(`01${'07'.repeat(30)}`, 'hex');

function keyOf(point: string, d: string): KeyObject {
  const both = Buffer.from(point, 'base64url');
  const x = both.subarray(1, 33).toString('base64url');
  const y = both.subarray(33).toString('base64url');
  return createPrivateKey({
    format: 'jwk',
    key: { kty: 'EC', crv: 'P-256', x, y, d },
  });
}

const forms: readonly (readonly [what: string, text: string])[] = [
  ['URL-safe base64', privateKey],
  ['padded standard base64', bytes.toString('base64')],
  ['PEM of PKCS#8', pem('pkcs8')],
  ['PEM of SEC1', pem('sec1')],
  ['base64 of PKCS#8 in DER', der('pkcs8')],
  ['base64 of SEC1 in DER', der('sec1')],
  ['SEC1 in DER in URL-safe base64', der('sec1').replaceAll('+', '-').replaceAll('/', '_')],
  ['base64 in lines', der('pkcs8').replace(/(.{64})/g, '$1\n')],
  [
    'what openssl ecparam -genkey writes',
    `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${pem('sec1')}`,
  ],
];

const refused: readonly (readonly [what: string, text: string])[] = [
  ['nothing', ''],
  ['no base64', 'hunter2!'],
  ['30 bytes', bytes.subarray(2).toString('base64url')],
  ['33 bytes', Buffer.concat([bytes, bytes.subarray(0, 1)]).toString('base64url')],
  ['zero', 'A'.repeat(43)],
  ['a number beyond the curve', `${'_'.repeat(42)}8`],
  ['the public key', publicKey],
  ['P-384', pem('pkcs8', generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).privateKey)],
  ['Ed25519', pem('pkcs8', generateKeyPairSync('ed25519').privateKey)],
  ['PEM that is cut off', pem('pkcs8').slice(0, -40)],
  [
    'a key with a passphrase',
    key
      .export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'hunter2' })
      .toString(),
  ],
];

describe('a VAPID private key', () => {
  for (const [what, text] of forms) {
    it(`may be ${what}, and is kept and shown as 32 bytes in URL-safe base64`, () => {
      expect(readVapidPrivateKey(text)).toBe(privateKey);
      expect(vapidIn({ privateKey: text })).toEqual(vapid);
    });
  }

  it('may lack its leading zero', () => {
    const padded = Buffer.concat([Buffer.of(0), SHORT]).toString('base64url');
    expect(readVapidPrivateKey(SHORT.toString('base64url'))).toBe(padded);
  });

  for (const [what, text] of refused) {
    it(`must not be ${what}`, () => {
      expect(readVapidPrivateKey(text)).toBeUndefined();
      expect(problemsIn(loadVapid({ privateKey: text }))).toEqual([
        `push.instances[0].web.vapid.privateKey: ${PRIVATE_KEY_RULE}`,
      ]);
    });
  }

  it('is read without an exception, whatever the text', () => {
    const label = fc.constantFrom('', '-----BEGIN PRIVATE KEY-----\n', '-----BEGIN ');
    fc.assert(
      fc.property(label, fc.oneof(fc.string(), fc.base64String()), (start, text) => {
        const read = readVapidPrivateKey(start + text);
        return read === undefined || read.length === 43;
      }),
    );
  });
});

describe('a VAPID pair', () => {
  it('may come from a file with the private key', () => {
    for (const [, text] of forms) {
      using directory = workingDirectory({ 'vapid.txt': `${text}\n` });
      const file = join(directory.path, 'vapid.txt');
      expect(readVapidPair({ privateKeyFile: file })).toEqual({
        ok: true,
        pair: { publicKey, privateKey },
      });
      expect(vapidIn({ privateKeyFile: file, publicKey })).toEqual(vapid);
    }
  });

  it('is refused with the setting that is wrong, and no key in the words', () => {
    using directory = workingDirectory({ 'vapid.pem': 'hunter2' });
    const file = join(directory.path, 'vapid.pem');
    const away = join(directory.path, 'away.pem');
    const at = 'push.instances[0].web.vapid';
    for (const [keys, problem] of [
      [{}, `${at}: needs either privateKey or privateKeyFile`],
      [{ publicKey }, `${at}: needs either privateKey or privateKeyFile`],
      [{ privateKey, privateKeyFile: file }, `${at}: needs either privateKey or privateKeyFile`],
      [{ privateKeyFile: file }, `${at}.privateKeyFile: ${file} ${PRIVATE_KEY_RULE}`],
      [{ privateKeyFile: away }, `${at}.privateKeyFile: ${away} does not exist`],
      [
        { publicKey, privateKey: SHORT.toString('base64url') },
        `${at}: publicKey and privateKey do not belong together`,
      ],
    ] as const) {
      expect(problemsIn(loadVapid(keys))).toEqual([problem]);
    }
  });
});
