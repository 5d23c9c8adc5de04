import { type KeyObject, sign } from 'node:crypto';

/** Signs a JWT with an RSA key (RS256) or a key of P-256 (ES256). Sources: RFC 7515, 7.1, and RFC 7518, 3. */
export function signJwt(header: object, claims: object, key: KeyObject): string {
  const alg = key.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256';
  const signed = `${encodePart({ ...header, alg })}.${encodePart(claims)}`;
  // ES256 is the two numbers one after the other (RFC 7518, 3.4), not the usual DER. RSA ignores the option.
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
