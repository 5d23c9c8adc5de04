import { verify } from 'node:crypto';
import { readJwt } from '../jwt.ts';
import { publicKeyFrom } from '../p256.ts';

/** How far ahead a token may expire. Source: RFC 8292, 2. */
const EXPIRES_MAX_SECONDS = 24 * 3600;

/**
 * Returns the error in an `Authorization` header; `undefined` if it is valid. `origin` is that of the push service,
 * `key` the public key that the browser subscribed with. Source: RFC 8292.
 */
export function vapidFault(
  header: string | undefined,
  origin: string,
  key: string,
  nowMs: number,
): string | undefined {
  const [, token = '', sentKey = ''] = /^vapid +t=(\S+), *k=([\w-]+)$/.exec(header ?? '') ?? [];
  const jwt = readJwt(token);
  if (jwt === undefined) return 'not "vapid t=…, k=…"';
  if (sentKey !== key) return 'another key than that of the subscription';
  const publicKey = { key: publicKeyFrom(key), dsaEncoding: 'ieee-p1363' } as const;
  if (!verify('sha256', jwt.signed, publicKey, jwt.signature)) return 'the signature is wrong';
  const { aud, exp, sub } = jwt.claims;
  const nowSeconds = nowMs / 1000;
  if (aud !== origin) return `aud is ${aud}`;
  if (typeof exp !== 'number' || exp <= nowSeconds) return `exp is ${exp}`;
  if (exp > nowSeconds + EXPIRES_MAX_SECONDS) return `exp is ${exp}, more than a day ahead`;
  if (!/^(mailto:|https:\/\/)\S+$/.test(String(sub))) return `sub is ${sub}`;
  return undefined;
}
