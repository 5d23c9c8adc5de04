import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import type { Certificate } from '../runtime/certificate.ts';

const DAY_MS = 24 * 3600 * 1000;

/** How long it is valid already, because clocks differ. */
const BEFORE_MS = DAY_MS;
const VALID_MS = 365 * DAY_MS;

/** Tags of DER. Source: ITU-T X.690, 8. */
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  text: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
  version: 0xa0,
  extensions: 0xa3,
  dnsName: 0x82,
  ipAddress: 0x87,
} as const;

/** Encoded object identifiers. Sources: RFC 5758, 3.2; RFC 5280, 4.2.1 and appendix A. */
const ECDSA_WITH_SHA256 = Buffer.from('2a8648ce3d040302', 'hex');
const COMMON_NAME = Buffer.from('550403', 'hex');
const BASIC_CONSTRAINTS = Buffer.from('551d13', 'hex');
const SUBJECT_ALTERNATIVE_NAME = Buffer.from('551d11', 'hex');

/**
 * Makes a self-signed certificate for these hosts, valid for a year. It can be given as the only authority to trust.
 * Source: RFC 5280.
 */
export function makeSelfSigned(hosts: readonly string[], nowMs: number): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(TAG.sequence, der(TAG.oid, ECDSA_WITH_SHA256));
  const name = nameOf('Fanfare fake gateways');
  const signed = der(
    TAG.sequence,
    der(TAG.version, der(TAG.integer, Buffer.from([2]))),
    der(TAG.integer, serialNumber()),
    algorithm,
    name,
    der(TAG.sequence, utcTime(nowMs - BEFORE_MS), utcTime(nowMs + VALID_MS)),
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(TAG.extensions, der(TAG.sequence, authority(), alternativeNames(hosts))),
  );
  const signature = sign('sha256', signed, privateKey);
  const certificate = der(TAG.sequence, signed, algorithm, der(TAG.bits, Buffer.of(0), signature));
  return {
    cert: pem('CERTIFICATE', certificate),
    key: String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content]);
}

/** Source: ITU-T X.690, 8.1.3. */
function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  return length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff);
}

/** Positive and random. */
function serialNumber(): Buffer {
  return Buffer.concat([Buffer.of(1), randomBytes(15)]);
}

function nameOf(commonName: string): Buffer {
  const attribute = [der(TAG.oid, COMMON_NAME), der(TAG.text, Buffer.from(commonName))];
  return der(TAG.sequence, der(TAG.set, der(TAG.sequence, ...attribute)));
}

/** `YYMMDDhhmmssZ`. Source: RFC 5280, 4.1.2.5.1. */
function utcTime(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/\D/g, '').slice(2, 14);
  return der(TAG.utcTime, Buffer.from(`${digits}Z`));
}

/** It may sign certificates: itself. */
function authority(): Buffer {
  const yes = der(TAG.boolean, Buffer.of(0xff));
  return extension(BASIC_CONSTRAINTS, yes, der(TAG.sequence, yes));
}

/** The names of this machine, with the host that a fake gateway is reached by. */
export function localHosts(host: string): readonly string[] {
  return [...new Set(['localhost', '127.0.0.1', host])];
}

function alternativeNames(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIP(host) === 4
      ? der(TAG.ipAddress, Buffer.from(host.split('.').map(Number)))
      : der(TAG.dnsName, Buffer.from(host)),
  );
  return extension(SUBJECT_ALTERNATIVE_NAME, Buffer.alloc(0), der(TAG.sequence, ...names));
}

function extension(name: Buffer, critical: Buffer, value: Buffer): Buffer {
  return der(TAG.sequence, der(TAG.oid, name), critical, der(TAG.octets, value));
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
