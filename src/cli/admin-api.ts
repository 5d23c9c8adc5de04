import { isObject } from '../config/plain-json.ts';
import { printable } from '../runtime/printable.ts';
import { redactedUrl } from '../runtime/redact.ts';
import { requestServer } from './server-request.ts';

const PASSWORD_HINT =
  ' (the command reads the password from admin.password of the configuration, or from the file that the server has made: run it with the same --config, in the same directory, as the server)';

export interface AdminResponse {
  readonly status: number;
  readonly body: unknown;
}

/** A client of the admin API of a running server. */
export class AdminApi {
  private readonly url: string;
  /** The URL without secrets. */
  readonly shown: string;
  private readonly password: string | undefined;

  constructor(url: string, password: string | undefined) {
    this.url = url;
    this.shown = redactedUrl(url);
    this.password = password;
  }

  /** Sends one request. Throws `Unreachable`, or an error for every status but success, 404 and 409. */
  async request(
    method: 'GET' | 'POST',
    path: string,
    sent?: Readonly<Record<string, unknown>>,
  ): Promise<AdminResponse> {
    const credentials =
      this.password === undefined
        ? {}
        : { authorization: `Basic ${Buffer.from(`:${this.password}`).toString('base64')}` };
    const { ok, status, text, body } = await requestServer(`${this.url}/api/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...credentials },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      shown: this.shown,
    });
    if (ok || status === 404 || status === 409) {
      if (body === undefined) throw new Error(`${this.shown} is not an admin API of Fanfare`);
      return { status, body };
    }
    const error = isObject(body) ? body['error'] : undefined;
    const why = printable(typeof error === 'string' ? error : text.slice(0, 200));
    throw new Error(
      `${this.shown} answers ${status}: ${why}${status === 401 ? PASSWORD_HINT : ''}`,
    );
  }
}
