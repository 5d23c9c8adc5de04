import { errorCode } from '../error-code.ts';

/** The codes of Node and Bun for a certificate that is not trusted, has expired, or is for another name. */
const CERTIFICATE_CODE = /CERT|SELF_SIGNED|UNABLE_TO_/;

/** The codes for a certificate whose authority is not trusted. */
const AUTHORITY_CODE = /SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY)/;

/** What the other side of a TLS connection says. Bun has it in the code, or in the message of `EPROTO`. */
const ALERT = /\b(?:TLSV1|SSLV3)_ALERT_(\w+)/;

/** The server that an error is about, and what this side has for it. */
export interface TlsPeer {
  /** The host and port, for display. */
  readonly at: string;
  /** The group of the settings for its TLS, such as `store.tls`. */
  readonly settings: string;
  readonly hasCertificate: boolean;
}

/**
 * Why TLS with a server fails for good, with the setting to change: its certificate is not accepted here, or ours is
 * not there. `undefined` if an error is about something else.
 */
export function tlsRefusal(error: unknown, peer: TlsPeer): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { at, settings } = peer;
  const code = String(errorCode(error));
  const [, alert] = ALERT.exec(`${code} ${error.message}`) ?? [];
  if (alert !== undefined) return alertText(alert, peer);
  if (/WRONG_VERSION_NUMBER/.test(code)) return `${at} does not answer by TLS`;
  if (!CERTIFICATE_CODE.test(code)) return undefined;
  const what = `the certificate of ${at} is not accepted: ${error.message}`;
  return AUTHORITY_CODE.test(code)
    ? `${what}. Its authority is not trusted here: set ${settings}.caFile to the PEM file of the authority`
    : what;
}

function alertText(alert: string, { at, settings, hasCertificate }: TlsPeer): string {
  const words = alert.toLowerCase().replaceAll('_', ' ');
  const certificate = `${settings}.certFile and ${settings}.keyFile`;
  if (/^CERTIFICATE_REQUIRED/.test(alert) && !hasCertificate) {
    return `${at} wants a certificate of this server, and there is none: set ${certificate}`;
  }
  if (/^HANDSHAKE_FAILURE/.test(alert) && !hasCertificate) {
    return `${at} refuses the TLS handshake. If it wants a certificate of this server, set ${certificate}`;
  }
  if (/^UNKNOWN_CA/.test(alert) && hasCertificate) {
    return `${at} does not accept the certificate of this server (${words}): ${settings}.certFile must come from an authority that it trusts, with its chain`;
  }
  return hasCertificate
    ? `${at} does not accept the certificate of this server (${words}): check ${settings}.certFile`
    : `${at} refuses TLS (${words})`;
}
