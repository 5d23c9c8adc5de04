import { expect, it } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { untrusted } from '../../../testing/servers/certificates.ts';
import { pairFault, pemFault } from './pem.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const { cert, key } = untrusted;

const encrypted = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
}).privateKey;

it('accepts a certificate, a chain with text between, and a key', () => {
  expect(pemFault(bytes(cert), 'certificate')).toBeUndefined();
  expect(pemFault(bytes(`leaf\n${cert}\nissuer\n${cert}\n`), 'certificate')).toBeUndefined();
  expect(pemFault(bytes(key), 'private key')).toBeUndefined();
  // One file may hold both.
  expect(pemFault(bytes(`${key}\n${cert}`), 'certificate')).toBeUndefined();
  expect(pairFault({ cert, key })).toBeUndefined();
});

it.each([
  ['', 'certificate', 'is empty'],
  [' \n', 'private key', 'is empty'],
  [`\uFEFF${cert}`, 'certificate', 'begins with a byte order mark (BOM)'],
  [key, 'certificate', 'holds a private key and no certificate: are the two files swapped?'],
  [cert, 'private key', 'holds a certificate and no private key: are the two files swapped?'],
  ['hello', 'certificate', 'is not PEM: it has no line -----BEGIN CERTIFICATE-----'],
  [cert.slice(0, 300), 'certificate', 'holds no complete certificate'],
  [`${cert}\n${cert.slice(0, 300)}`, 'certificate', 'holds damage: its certificate 2'],
  [cert.replace('MIIB', 'AAAA'), 'certificate', 'holds a damaged certificate'],
  [key.replace('MIGH', 'AAAA'), 'private key', 'holds a damaged private key'],
  [encrypted, 'private key', 'holds a key with a passphrase'],
] as const)('says what is wrong with %j as a %s', (text, kind, fault) => {
  expect(pemFault(bytes(text), kind)).toStartWith(fault);
});

it('says that a file is UTF-16', () => {
  const text = Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(cert, 'utf16le')]);
  expect(pemFault(text, 'certificate')).toStartWith('is UTF-16 text');
});

it('finds a key of another certificate', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const other = String(privateKey.export({ format: 'pem', type: 'pkcs8' }));
  expect(pairFault({ cert, key: other })).toBe('the key does not belong to the certificate');
});

it('never throws, and repeats nothing of a file', () => {
  const piece = fc.constantFrom(
    '-----BEGIN ',
    '-----END ',
    'CERTIFICATE',
    'PRIVATE KEY',
    '-----',
    '\n',
  );
  const secret = fc.constant('c2VjcmV0');
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, secret, fc.string())), (parts) => {
      for (const kind of ['certificate', 'private key'] as const) {
        expect(pemFault(bytes(parts.join('')), kind) ?? '').not.toContain('c2VjcmV0');
      }
    }),
  );
});
