import { printable } from '../runtime/printable.ts';
import { redactedUrl } from '../runtime/redacted-url.ts';

/** How long a server may take to answer. Milliseconds. */
const ANSWER_MAX_MS = 10_000;

/** Nobody answers there. */
export class NobodyThere extends Error {
  override readonly name = 'NobodyThere';
}

export interface AdminAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The admin API of a running server. */
export class AdminApi {
  private readonly url: string;
  /** The same as people may see it. */
  private readonly shown: string;
  private readonly password: string | undefined;

  constructor(url: string, password: string | undefined) {
    this.url = url;
    this.shown = redactedUrl(url);
    this.password = password;
  }

  /**
   * Sends one request. Throws `NobodyThere` where no connection can be made, and an error in words where
   * it is refused with anything but 404 or 409.
   */
  async ask(method: 'GET' | 'POST', path: string): Promise<AdminAnswer> {
    const response = await this.send(method, path);
    const text = await response.text();
    const body = readJson(text);
    if (response.ok || response.status === 404 || response.status === 409) {
      if (body === undefined) throw new Error(`${this.shown} is no admin API of Fanfare`);
      return { status: response.status, body };
    }
    const why = printable(isError(body) ? body.error : text.slice(0, 200));
    const hint =
      response.status === 401
        ? ' (it is read from admin.password of the configuration, or else from the file that the server has made: run this with the same --config, in the same directory, as the server)'
        : '';
    throw new Error(`${this.shown} answers ${response.status}: ${why}${hint}`);
  }

  private async send(method: string, path: string): Promise<Response> {
    try {
      return await fetch(`${this.url}/api/v1${path}`, {
        method,
        redirect: 'error',
        signal: AbortSignal.timeout(ANSWER_MAX_MS),
        headers: {
          'content-type': 'application/json',
          ...(this.password === undefined
            ? {}
            : { authorization: `Basic ${Buffer.from(`:${this.password}`).toString('base64')}` }),
        },
      });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new NobodyThere(`${this.shown} does not answer: ${why}`, { cause: error });
    }
  }
}

/** What an answer says that is no JSON, is not known: `undefined`. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Something else than this API answered.
    return undefined;
  }
}

function isError(body: unknown): body is { readonly error: string } {
  return (
    typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string'
  );
}
