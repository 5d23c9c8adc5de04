import { isObject } from '../../config/settings/plain-json.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { PROXY_HOST } from '../own-address.ts';
import { type ServerAddress, shownAddress } from '../server-address.ts';
import { openServer, parsed, RESPONSE_TIMEOUT_MS, requestServer } from '../server-request.ts';

const PASSWORD_HINT =
  ' (the command reads the password from admin.password of the configuration, or from the file that the server has made: run it with the same --config, in the same directory, as the server)';

export interface AdminResponse {
  readonly status: number;
  readonly body: unknown;
}

/** A client of the admin API of a running server. */
export class AdminApi {
  private readonly address: ServerAddress;
  /** The URL without secrets. */
  readonly shown: string;
  /** The URL by which a browser reaches it, without secrets. */
  readonly browserUrl: string;
  private readonly password: string | undefined;

  constructor(address: ServerAddress, password: string | undefined) {
    this.address = address;
    this.shown = shownAddress(address);
    this.browserUrl =
      address.unix === undefined ? this.shown.replace(/\/$/, '') : `https://${PROXY_HOST}`;
    this.password = password;
  }

  /** Sends one request. Throws `Unreachable`, or an error for every status but success, 404 and 409. */
  async request(
    method: 'GET' | 'POST',
    path: string,
    sent?: Readonly<Record<string, unknown>>,
  ): Promise<AdminResponse> {
    const { ok, status, text, body } = await requestServer(`${this.address.url}/api/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...this.credentials() },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      ...this.socket(),
      shown: this.shown,
      hint: this.address.hint,
    });
    if (ok || status === 404 || status === 409) {
      if (body === undefined) throw new Error(`${this.shown} is not an admin API of Fanfare`);
      return { status, body };
    }
    throw this.refused(status, text, body);
  }

  /** Sends one request and returns the body of its answer. Throws `Unreachable`, or an error with the words of the server. */
  async ask(
    method: 'GET' | 'POST',
    path: string,
    sent?: Readonly<Record<string, unknown>>,
  ): Promise<unknown> {
    const { status, body } = await this.request(method, path, sent);
    if (status === 404 || status === 409) throw new Error(errorIn(body) ?? `HTTP status ${status}`);
    return body;
  }

  /** Opens a stream. Throws `Unreachable`, or an error for every status but success. */
  async stream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const late = new AbortController();
    const cancel = monotonicTimers.after(RESPONSE_TIMEOUT_MS, () => late.abort());
    const response = await openServer(`${this.address.url}/api/v1${path}`, {
      headers: this.credentials(),
      ...this.socket(),
      signal: AbortSignal.any([signal, late.signal]),
      shown: this.shown,
      hint: this.address.hint,
    }).finally(cancel);
    const type = response.headers.get('content-type');
    if (response.ok && response.body !== null && type === 'text/event-stream') return response.body;
    const text = await response.text();
    throw this.refused(response.status, text, parsed(text));
  }

  private socket(): { readonly unix?: string } {
    const { unix } = this.address;
    return unix === undefined ? {} : { unix };
  }

  private credentials(): Readonly<Record<string, string>> {
    if (this.password === undefined) return {};
    return { authorization: `Basic ${Buffer.from(`:${this.password}`).toString('base64')}` };
  }

  private refused(status: number, text: string, body: unknown): Error {
    const why = errorIn(body) ?? printable(text.slice(0, 200));
    return new Error(
      `${this.shown} answers ${status}: ${why}${status === 401 ? PASSWORD_HINT : ''}`,
    );
  }
}

/** What the server says of a request that it refuses. */
function errorIn(body: unknown): string | undefined {
  const error = isObject(body) ? body['error'] : undefined;
  return typeof error === 'string' ? printable(error) : undefined;
}
