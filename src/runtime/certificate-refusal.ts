import { errorCode } from './error-code.ts';

/** The codes of Node and Bun for a certificate that is not trusted, has expired, or is for another name. */
const CERTIFICATE_CODE = /CERT|SELF_SIGNED|UNABLE_TO_/;

/** Those of a certificate whose authority is not trusted. */
const AUTHORITY_CODE = /SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY)/;

/** Why the certificate of a server at `host` is not accepted; `undefined` if an error is about something else. */
export function certificateRefusal(error: unknown, host: string): string | undefined {
  const code = String(errorCode(error));
  if (!(error instanceof Error) || !CERTIFICATE_CODE.test(code)) return undefined;
  const what = `the certificate of ${host} is not accepted: ${error.message}`;
  return AUTHORITY_CODE.test(code)
    ? `${what}. Its authority is not trusted here: NODE_EXTRA_CA_CERTS=FILE in the environment of this program adds one`
    : what;
}
