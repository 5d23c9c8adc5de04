/** Base64 in either alphabet, with or without padding. */
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Decodes base64 of either alphabet. Browsers and libraries disagree on alphabet and padding. */
export function decodeBase64(text: string): Uint8Array | undefined {
  // `Buffer.from` would skip invalid characters, and decode many texts to the same bytes.
  if (!BASE64.test(text)) return undefined;
  const digits = text.replace(/=+$/, '').length;
  return digits % 4 === 1 ? undefined : Buffer.from(text, 'base64');
}

/** Encodes bytes in the URL-safe alphabet, without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}
