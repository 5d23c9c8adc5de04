import { type JsonObject, readJsonObject } from '../runtime/json-object.ts';

/** A signed JWT, decoded but not verified. */
export interface DecodedJwt {
  readonly header: JsonObject;
  readonly claims: JsonObject;
  /** The bytes that the signature is for. */
  readonly signed: Buffer;
  readonly signature: Buffer;
}

/** Reads a JWT; `undefined` if the text is not one. Source: RFC 7515, 7.1. */
export function readJwt(text: string): DecodedJwt | undefined {
  const parts = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(text);
  if (parts === null) return undefined;
  const [, head = '', body = '', signature = ''] = parts;
  const header = readJsonObject(Buffer.from(head, 'base64url'));
  const claims = readJsonObject(Buffer.from(body, 'base64url'));
  if (header === undefined || claims === undefined) return undefined;
  return {
    header,
    claims,
    signed: Buffer.from(`${head}.${body}`),
    signature: Buffer.from(signature, 'base64url'),
  };
}
