import { errorCode, errorWord } from '../../runtime/error-code.ts';
import { printable } from '../../runtime/logging/printable.ts';

/** The longest text of an authority that we quote, in UTF-16 units. */
const DETAIL_MAX = 300;

/** An error of the authority. Source: RFC 7807. */
export interface AcmeProblem {
  /** The last part of the type: `rateLimited` of `urn:ietf:params:acme:error:rateLimited`. */
  readonly type: string;
  readonly detail: string;
}

/** Why there is no certificate. Written for the operator. */
export class AcmeFault extends Error {
  readonly type: string;
  /**
   * The pause that the authority asks for before the next order, in milliseconds from now. `undefined`: it named
   * none.
   */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    given: { readonly type?: string; readonly retryAfterMs?: number } = {},
  ) {
    super(message);
    this.type = given.type ?? '';
    this.retryAfterMs = given.retryAfterMs;
  }
}

/** Reads the body of an error response. Accepts any content. */
export function readProblem(value: unknown, status = 0): AcmeProblem {
  const { type, detail } = Object(value) as { readonly type?: unknown; readonly detail?: unknown };
  return {
    type: typeof type === 'string' ? (type.split(':').pop() ?? '') : '',
    detail: shown(typeof detail === 'string' && detail !== '' ? detail : `status ${status}`),
  };
}

/** What an operator can do about an error of the authority. */
const advice: Readonly<Record<string, string>> = {
  rateLimited: 'It limits orders; the server waits',
  externalAccountRequired:
    'It wants an account that was made by hand, which is not supported: choose another tls.acme.directory',
  invalidContact: 'Check tls.acme.email',
  unsupportedContact: 'Check tls.acme.email',
  rejectedIdentifier: 'Check tls.acme.domains',
  caa: 'A CAA record of the domain allows other authorities only',
};

/** The fault for an error of the authority. */
export function refusedBy({ type, detail }: AcmeProblem, retryAfterMs?: number): AcmeFault {
  const hint = advice[type];
  const message = `The authority refused: ${detail}${hint === undefined ? '' : `. ${hint}`}`;
  return new AcmeFault(message, { type, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}

/** The fault for a domain that the authority could not check. */
export function unchecked(domain: string, { type, detail }: AcmeProblem): AcmeFault {
  const hint =
    type === 'caa'
      ? advice['caa']
      : `Check that the DNS names this server, and that port 80 of ${domain} leads to tls.acme.httpPort`;
  return new AcmeFault(`The authority could not check ${domain}: ${detail}. ${hint}`, { type });
}

/** Makes the fault for a request without an answer. Never quotes the error's message, which may contain a URL. */
export function unreachable(host: string, error: unknown): AcmeFault {
  const code = String(errorCode(error) ?? '');
  if (/EXPIRED|NOT_YET_VALID/.test(code)) {
    return new AcmeFault(
      `The certificate of ${host} is not valid now (${code}). Check the clock of this machine`,
    );
  }
  const isUntrusted = /CERT|SIGNATURE|ISSUER/.test(code);
  return new AcmeFault(
    isUntrusted
      ? `The certificate of ${host} is not trusted (${code}). Check tls.acme.directory and tls.acme.caFile`
      : `${host} cannot be reached (${errorWord(error)}). Check tls.acme.directory, and that this machine may connect to it`,
  );
}

function shown(text: string): string {
  return printable(text.slice(0, DETAIL_MAX));
}
