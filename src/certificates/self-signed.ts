import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { Certificate } from '../runtime/tls/certificate.ts';
import { alternativeNames, der, ECDSA, extension, nameOf, pem, TAG } from './der.ts';

const DAY_MS = 24 * 3600 * 1000;

/** Dates the certificate this much back, because clocks differ. */
const BEFORE_MS = DAY_MS;
const VALID_MS = 365 * DAY_MS;

/** Source: RFC 5280, 4.2.1.9. */
const BASIC_CONSTRAINTS = Buffer.from('551d13', 'hex');

const ISSUER = 'Fanfare';

/**
 * Makes a self-signed certificate for these hosts, valid for a year. It can be given as the only authority to trust.
 * Source: RFC 5280.
 */
export function makeSelfSigned(hosts: readonly string[], nowMs: number): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const fromMs = nowMs - BEFORE_MS;
  return {
    cert: signCertificate({ hosts, publicKey, privateKey, fromMs, untilMs: nowMs + VALID_MS }),
    key: String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
  };
}

export interface UnsignedCertificate {
  readonly hosts: readonly string[];
  readonly publicKey: KeyObject;
  /** The key of the issuer. */
  readonly privateKey: KeyObject;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Makes a certificate of our own authority. */
export function signCertificate(given: UnsignedCertificate): string {
  const { hosts, publicKey, privateKey, fromMs, untilMs } = given;
  const name = nameOf(ISSUER);
  const signed = der(
    TAG.sequence,
    der(TAG.version, der(TAG.integer, Buffer.from([2]))),
    der(TAG.integer, serialNumber()),
    ECDSA,
    name,
    der(TAG.sequence, utcTime(fromMs), utcTime(untilMs)),
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(TAG.extensions, der(TAG.sequence, authority(), alternativeNames(hosts))),
  );
  const signature = sign('sha256', signed, privateKey);
  return pem(
    'CERTIFICATE',
    der(TAG.sequence, signed, ECDSA, der(TAG.bits, Buffer.of(0), signature)),
  );
}

/** Positive and random. */
function serialNumber(): Buffer {
  return Buffer.concat([Buffer.of(1), randomBytes(15)]);
}

/** `YYMMDDhhmmssZ`. Source: RFC 5280, 4.1.2.5.1. */
function utcTime(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/\D/g, '').slice(2, 14);
  return der(TAG.utcTime, Buffer.from(`${digits}Z`));
}

/** The extension that lets a certificate sign others: this one signs itself. */
function authority(): Buffer {
  const yes = der(TAG.boolean, Buffer.of(0xff));
  return extension(BASIC_CONSTRAINTS, yes, der(TAG.sequence, yes));
}

/** The names of this machine, and the host of the fake gateways. */
export function localHosts(host: string): readonly string[] {
  return [...new Set(['localhost', '127.0.0.1', host])];
}
