import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type HeaderField, keptField } from '../../outgoing/http2/hpack/header-field.ts';
import { pemFault } from '../../runtime/tls/pem.ts';
import { signJwt } from '../jwt.ts';

/** The credentials of a developer team at Apple. */
export interface ApnsCredentials {
  readonly teamId: string;
  readonly keyId: string;
  readonly privateKey: KeyObject;
}

/** Apple accepts a token for an hour, and a new one every 20 minutes. Source: push protocol, §8.1. */
const VALID_MS = 30 * 60_000;

/** How far Apple's clock may be behind ours: it refuses tokens from the future. */
const CLOCK_LEEWAY_MS = 60_000;

/** Reads a signing key from Apple's `.p8` file. A fault never quotes the file. */
export function readSigningKey(
  pem: string,
): { readonly ok: true; readonly key: KeyObject } | { readonly ok: false; readonly why: string } {
  const fault = pemFault(Buffer.from(pem), 'private key');
  if (fault !== undefined) return { ok: false, why: `it ${fault}` };
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
      ? { ok: true, key }
      : { ok: false, why: 'it is not a P-256 key' };
  } catch {
    // The parser's message could quote the key.
    return { ok: false, why: 'it is not a private key in PEM' };
  }
}

/**
 * The token that authenticates requests to Apple. Apple limits how many a team may use, over all servers. So tokens are
 * issued at full and half hours, and all servers with a correct clock use the same one.
 */
export class ProviderToken {
  private readonly credentials: ApnsCredentials;
  private signed: { readonly issuedAtMs: number; readonly field: HeaderField } | undefined;

  constructor(credentials: ApnsCredentials) {
    this.credentials = credentials;
  }

  /** The `authorization` field for now; the same object until it is renewed. */
  at(nowMs: number): HeaderField {
    const issuedAtMs = issueTimeMs(nowMs);
    if (this.signed?.issuedAtMs !== issuedAtMs) {
      const field = keptField('authorization', `bearer ${this.sign(issuedAtMs)}`);
      this.signed = { issuedAtMs, field };
    }
    return this.signed.field;
  }

  private sign(issuedAtMs: number): string {
    const { teamId, keyId, privateKey } = this.credentials;
    return signJwt({ kid: keyId }, { iss: teamId, iat: issuedAtMs / 1000 }, privateKey);
  }
}

/** The last half hour that has begun even on a slow clock of Apple's. */
function issueTimeMs(nowMs: number): number {
  return Math.floor((nowMs - CLOCK_LEEWAY_MS) / VALID_MS) * VALID_MS;
}

/** The tokens of a server: one for each team and key, shared by all instances. */
export class ProviderTokens {
  private readonly tokens = new Map<string, ProviderToken>();

  of(credentials: ApnsCredentials): ProviderToken {
    const { teamId, keyId, privateKey } = credentials;
    // By key as well, so that an instance with a wrong key does not affect others.
    const { d } = privateKey.export({ format: 'jwk' });
    const name = JSON.stringify([teamId, keyId, d]);
    const known = this.tokens.get(name);
    if (known !== undefined) return known;
    const token = new ProviderToken(credentials);
    this.tokens.set(name, token);
    return token;
  }
}
