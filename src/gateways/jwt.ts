import { type KeyObject, sign } from 'node:crypto';
import { unsignedJwt } from './unsigned-jwt.ts';

/** Writes and signs a JWT with a key of P-256. Source: RFC 7515, 7.1. */
export function signEs256(header: object, claims: object, key: KeyObject): string {
  const signed = unsignedJwt({ ...header, alg: 'ES256' }, claims);
  // ES256 is the two numbers one after the other (RFC 7518, 3.4), not the DER that is usual elsewhere.
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}
