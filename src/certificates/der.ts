import { isIP } from 'node:net';

/** Writes the part of DER that certificates and certificate requests need. Source: ITU-T X.690. */

/** Tags. Source: ITU-T X.690, 8. */
export const TAG = {
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
  attributes: 0xa0,
  extensions: 0xa3,
  dnsName: 0x82,
  ipAddress: 0x87,
} as const;

/** Encoded object identifiers. Sources: RFC 5758, 3.2; RFC 5280, 4.2.1 and appendix A; RFC 2985, 5.4.2. */
const ECDSA_WITH_SHA256 = Buffer.from('2a8648ce3d040302', 'hex');
const COMMON_NAME = Buffer.from('550403', 'hex');
const SUBJECT_ALTERNATIVE_NAME = Buffer.from('551d11', 'hex');

/** The name of the algorithm of all signatures here: ECDSA with SHA-256. */
export const ECDSA = der(TAG.sequence, der(TAG.oid, ECDSA_WITH_SHA256));

export function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content]);
}

/** Source: ITU-T X.690, 8.1.3. */
function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  return length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff);
}

/** A distinguished name of one part. */
export function nameOf(commonName: string): Buffer {
  const attribute = [der(TAG.oid, COMMON_NAME), der(TAG.text, Buffer.from(commonName))];
  return der(TAG.sequence, der(TAG.set, der(TAG.sequence, ...attribute)));
}

/** The extension that lists the names and addresses of a server. */
export function alternativeNames(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIP(host) === 4
      ? der(TAG.ipAddress, Buffer.from(host.split('.').map(Number)))
      : der(TAG.dnsName, Buffer.from(host)),
  );
  return extension(SUBJECT_ALTERNATIVE_NAME, Buffer.alloc(0), der(TAG.sequence, ...names));
}

export function extension(name: Buffer, critical: Buffer, value: Buffer): Buffer {
  return der(TAG.sequence, der(TAG.oid, name), critical, der(TAG.octets, value));
}

export function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
