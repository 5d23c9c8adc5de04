import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type HeaderField, keptField } from '../../outgoing/http2/hpack/header-field.ts';
import { signJwt } from '../jwt.ts';

/** The VAPID credentials: they authenticate us to push services and browsers. */
export interface VapidSettings {
  /** 65 bytes of P-256 in URL-safe base64, without padding. */
  readonly publicKey: string;
  /** 32 bytes in URL-safe base64. */
  readonly privateKey: string;
  /** The operator's contact: `mailto:…` or `https://…`. */
  readonly subject: string;
}

/** Half of what is allowed, because clocks differ. Source: RFC 8292, 2. */
const VALID_SECONDS = 12 * 3600;

/** Renewed long before the end, for the same reason. */
const RENEWED_AFTER_MS = (VALID_SECONDS / 2) * 1000;

/** Signs VAPID tokens. */
export class VapidSigner {
  private readonly settings: VapidSettings;
  private readonly key: KeyObject;

  constructor(settings: VapidSettings) {
    this.settings = settings;
    this.key = readPrivateKey(settings);
  }

  /** The value of `Authorization` for the push service at an origin. Source: RFC 8292, 2 and 3. */
  sign(origin: string, nowMs: number): string {
    const { publicKey, subject } = this.settings;
    const claims = { aud: origin, exp: Math.floor(nowMs / 1000) + VALID_SECONDS, sub: subject };
    return `vapid t=${signJwt({ typ: 'JWT' }, claims, this.key)}, k=${publicKey}`;
  }
}

/** The `Authorization` field for one push service; signed every six hours, not for each message. */
export class VapidAuthorization {
  private readonly signer: VapidSigner;
  private readonly origin: string;
  private signed: { readonly field: HeaderField; readonly atMs: number } | undefined;

  constructor(signer: VapidSigner, origin: string) {
    this.signer = signer;
    this.origin = origin;
  }

  at(nowMs: number): HeaderField {
    const ageMs = nowMs - (this.signed?.atMs ?? nowMs);
    // Also after the clock was set back: the old token would expire too far ahead.
    if (this.signed === undefined || Math.abs(ageMs) >= RENEWED_AFTER_MS) {
      const field = keptField('authorization', this.signer.sign(this.origin, nowMs));
      this.signed = { field, atMs: nowMs };
    }
    return this.signed.field;
  }
}

function readPrivateKey({ publicKey, privateKey }: VapidSettings): KeyObject {
  const point = Buffer.from(publicKey, 'base64url');
  return createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
      d: Buffer.from(privateKey, 'base64url').toString('base64url'),
    },
  });
}
