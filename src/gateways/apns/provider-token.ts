import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type HeaderField, keptField } from '../../outgoing/http2/header-field.ts';
import { signEs256 } from '../jwt.ts';

/** Who sends, as Apple knows them. */
export interface ApnsCredentials {
  readonly teamId: string;
  readonly keyId: string;
  readonly privateKey: KeyObject;
}

/** Apple takes a token for an hour, and no new one within 20 minutes. Source: push protocol, §8.1. */
const VALID_MS = 30 * 60_000;

/** How far behind ours Apple's clock may be: to it, no token is of the future. */
const CLOCK_LEEWAY_MS = 60_000;

/** Reads a signing key as Apple gives it out, a `.p8` file; or says what is wrong with it, and nothing of it. */
export function readSigningKey(
  pem: string,
): { readonly ok: true; readonly key: KeyObject } | { readonly ok: false; readonly why: string } {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
      ? { ok: true, key }
      : { ok: false, why: 'it is no key of P-256, as those from Apple are' };
  } catch {
    // Whatever the parser says could quote what it was given.
    return { ok: false, why: 'it is no private key in PEM' };
  }
}

/**
 * What tells Apple who sends. Apple wants few of these of one team, however many servers send; so they count from
 * half hours of the clock, and all servers that know the time say the same.
 */
export class ProviderToken {
  private readonly credentials: ApnsCredentials;
  private signed: { readonly issuedAtMs: number; readonly field: HeaderField } | undefined;

  constructor(credentials: ApnsCredentials) {
    this.credentials = credentials;
  }

  /** `authorization` of a request that is sent now. The same object until it is renewed. */
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
    return signEs256({ kid: keyId }, { iss: teamId, iat: issuedAtMs / 1000 }, privateKey);
  }
}

/** The last half hour that has begun on Apple's clock as well. */
function issueTimeMs(nowMs: number): number {
  return Math.floor((nowMs - CLOCK_LEEWAY_MS) / VALID_MS) * VALID_MS;
}

/** The tokens of a server: one for each team and key, whichever instances use it. */
export class ProviderTokens {
  private readonly tokens = new Map<string, ProviderToken>();

  of(credentials: ApnsCredentials): ProviderToken {
    const { teamId, keyId, privateKey } = credentials;
    // With the key, so that a wrong one in one place does no harm in another.
    const { d } = privateKey.export({ format: 'jwk' });
    const name = JSON.stringify([teamId, keyId, d]);
    const known = this.tokens.get(name);
    if (known !== undefined) return known;
    const token = new ProviderToken(credentials);
    this.tokens.set(name, token);
    return token;
  }
}
