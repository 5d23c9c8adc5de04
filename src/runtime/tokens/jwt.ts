import { createHmac, timingSafeEqual } from 'node:crypto';
import { type JsonObject, readJsonObject } from '../json-object.ts';
import { decodeBase64 } from './base64url.ts';

/** A JWT in its compact form, of which nothing is verified. */
export interface UnverifiedJwt {
  readonly header: JsonObject;
  /** `header.payload`, as it was sent. */
  readonly signed: string;
  readonly signature: string;
  /** `undefined`: they are no JSON object. Must not be read before the signature is verified. */
  readonly readClaims: () => JsonObject | undefined;
}

/** In characters. Tokens of the official libraries have fewer than 1,000. */
export const JWT_LENGTH_MAX = 8192;

/** RFC 7515, 7.1: three parts in base64url without padding. */
const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/;

/** Takes a token apart; `undefined` if it is no JWT, or too long. */
export function parseJwt(token: string): UnverifiedJwt | undefined {
  const parts = token.length <= JWT_LENGTH_MAX ? COMPACT.exec(token) : null;
  const [, head, payload, signature] = parts ?? [];
  const header = head === undefined ? undefined : decodePart(head);
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  return {
    header,
    signed: `${head}.${payload}`,
    signature,
    readClaims: () => decodePart(payload),
  };
}

/** Whether a token is signed with a secret by HS256. Compares in constant time. */
export function isSignedBy(secret: string, { signed, signature }: UnverifiedJwt): boolean {
  const expected = Buffer.from(createHmac('sha256', secret).update(signed).digest('base64url'));
  const sent = Buffer.from(signature);
  return expected.length === sent.length && timingSafeEqual(expected, sent);
}

function decodePart(part: string): JsonObject | undefined {
  const bytes = decodeBase64(part);
  return bytes && readJsonObject(bytes);
}
