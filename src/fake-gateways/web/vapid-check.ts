import { verify } from 'node:crypto';
import { publicKeyFrom } from '../p256.ts';

/** RFC 8292, 2: how far ahead a token may end. */
const EXPIRES_MAX_SECONDS = 24 * 3600;

interface Claims {
  readonly aud?: unknown;
  readonly exp?: unknown;
  readonly sub?: unknown;
}

/**
 * What is wrong with an `Authorization` header, as a push service that looks at everything would say; `undefined`
 * where nothing is. `origin` is that of the push service, `key` what the browser subscribed with. Source: RFC 8292.
 */
export function vapidFault(
  header: string | undefined,
  origin: string,
  key: string,
  nowMs: number,
): string | undefined {
  const parameters = /^vapid +t=([\w-]+\.[\w-]+\.[\w-]+), *k=([\w-]+)$/.exec(header ?? '');
  if (parameters === null) return 'not "vapid t=…, k=…"';
  const [, token = '', sentKey = ''] = parameters;
  if (sentKey !== key) return 'another key than that of the subscription';
  const [head = '', claims = '', signature = ''] = token.split('.');
  const signed = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key: publicKeyFrom(key), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!signed) return 'the signature is wrong';
  const { aud, exp, sub }: Claims = JSON.parse(Buffer.from(claims, 'base64url').toString());
  const nowSeconds = nowMs / 1000;
  if (aud !== origin) return `aud is ${aud}`;
  if (typeof exp !== 'number' || exp <= nowSeconds) return `exp is ${exp}`;
  if (exp > nowSeconds + EXPIRES_MAX_SECONDS) return `exp is ${exp}, more than a day ahead`;
  if (!/^(mailto:|https:\/\/)\S+$/.test(String(sub))) return `sub is ${sub}`;
  return undefined;
}
