/** A certificate and its private key, both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** What a client of another server uses for TLS, all PEM. */
export interface ClientTls {
  /** The authorities to trust instead of the system's; `undefined`: the system's. */
  readonly ca: string | undefined;
  /** For a server that asks its clients for a certificate. */
  readonly certificate: Certificate | undefined;
}

/** The authorities of the system, and no certificate. */
export const NO_CLIENT_TLS: ClientTls = { ca: undefined, certificate: undefined };

/**
 * The cipher suites that listeners accept with TLS 1.2: who later gets the private key cannot read what was recorded, and each
 * record is authenticated. All suites of TLS 1.3 are like that, and the runtime always offers them.
 */
export const CIPHER_SUITES = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');
