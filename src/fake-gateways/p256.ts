import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** A key pair on P-256, the curve of web push. */
export interface P256Pair {
  readonly privateKey: KeyObject;
  /** The uncompressed point in URL-safe base64, as browsers and VAPID write it. */
  readonly publicText: string;
  /** The number in URL-safe base64, as VAPID keys are written. */
  readonly privateText: string;
}

export function newP256Pair(): P256Pair {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '', d = '' } = privateKey.export({ format: 'jwk' });
  const point = [Uint8Array.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
  return { privateKey, publicText: Buffer.concat(point).toString('base64url'), privateText: d };
}

/** Reads a public key in the form of `publicText`. */
export function publicKeyFrom(publicText: string): KeyObject {
  const point = Buffer.from(publicText, 'base64url');
  const x = point.subarray(1, 33).toString('base64url');
  const y = point.subarray(33).toString('base64url');
  return createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } });
}
