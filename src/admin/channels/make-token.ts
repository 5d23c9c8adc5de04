import { createHmac, randomUUID } from 'node:crypto';
import type { App } from '../../channels/app.ts';
import { readToken } from '../../channels/signatures/token.ts';
import { encodeBase64Url } from '../../runtime/tokens/base64url.ts';

/** What a token is to allow. */
export interface TokenContents {
  readonly userId: string | undefined;
  readonly userInfo?: object | undefined;
  /** Patterns and rights, as in `grants`. */
  readonly channels: Readonly<Record<string, readonly string[]>>;
  readonly seconds: number;
}

export type MadeToken =
  | {
      readonly ok: true;
      readonly token: string;
      readonly claims: Readonly<Record<string, unknown>>;
    }
  | { readonly ok: false; readonly why: string };

/** Makes a token of an app, signed with the secret of its first key. Makes none that the server would refuse. */
export function makeToken(
  app: App,
  { userId, userInfo, channels, seconds }: TokenContents,
  nowSeconds: number,
): MadeToken {
  const { grants } = app;
  const [pair] = app.keys;
  if (grants === undefined || pair === undefined) {
    return { ok: false, why: `The app ${app.id} takes no tokens: set its \`grants\`` };
  }
  const issuedAt = Math.floor(nowSeconds);
  const claims = {
    [grants.userClaim]: userId,
    user_info: userInfo,
    [grants.channelsClaim]: channels,
    jti: randomUUID(),
    iat: issuedAt,
    exp: issuedAt + seconds,
  };
  const parts = [{ alg: 'HS256', typ: 'JWT', kid: pair.key }, claims];
  const signed = parts.map((part) => encodeBase64Url(Buffer.from(JSON.stringify(part)))).join('.');
  const signature = createHmac('sha256', pair.secret).update(signed).digest('base64url');
  const token = `${signed}.${signature}`;
  const read = readToken({ ...app, grants }, token, nowSeconds);
  return read.ok ? { ok: true, token, claims } : { ok: false, why: read.why };
}
