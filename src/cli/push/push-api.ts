import { printable } from '../../runtime/printable.ts';
import { redactedUrl } from '../../runtime/redacted-url.ts';
import { NobodyThere } from '../admin-api.ts';
import type { InstanceKey } from '../tenants/instance-keys.ts';

/** How long a server may take to answer. Milliseconds. */
const ANSWER_MAX_MS = 10_000;

/** What a refused request is answered with. */
interface Refused {
  readonly error: string;
  readonly description: string;
}

export type PushAnswer =
  | { readonly result: 'answered'; readonly body: unknown }
  /** The instance has not got what was asked for. */
  | { readonly result: 'not-found'; readonly what: string; readonly description: string }
  /** The secret key is none of the instance. */
  | { readonly result: 'unauthorised' };

/** The push API of a running server, as a backend asks it. */
export class PushApi {
  private readonly url: string;
  /** The same as people may see it. */
  readonly shown: string;
  private readonly isOurs: boolean;

  /** `isOurs`: it is at an address of this machine, so whatever its certificate says, nobody stands between. */
  constructor(url: string, isOurs: boolean) {
    this.url = url;
    this.shown = redactedUrl(url);
    this.isOurs = isOurs;
  }

  /**
   * Asks for something of an instance. Throws `NobodyThere` where no connection can be made, and an error in words
   * where the answer is none that can be used.
   */
  async get({ id, secretKey }: InstanceKey, path: string): Promise<PushAnswer> {
    const response = await this.send(`/publish_api/v1/instances/${id}${path}`, secretKey);
    const text = await response.text();
    const body = readJson(text);
    if (response.ok && body !== undefined) return { result: 'answered', body };
    if (!isRefused(body)) {
      throw new Error(`${this.shown} is no push API of Fanfare: it answers ${response.status}`);
    }
    const error = printable(body.error);
    const description = printable(body.description);
    if (response.status === 401) return { result: 'unauthorised' };
    if (response.status === 404 && error !== 'Not found') {
      return { result: 'not-found', what: error, description };
    }
    throw new Error(`${this.shown} answers ${response.status}: ${error}: ${description}`);
  }

  private async send(path: string, secretKey: string): Promise<Response> {
    try {
      return await fetch(`${this.url}${path}`, {
        redirect: 'error',
        signal: AbortSignal.timeout(ANSWER_MAX_MS),
        headers: { authorization: `Bearer ${secretKey}` },
        // It is for the name that devices know, which is not the one of this machine.
        ...(this.isOurs ? { tls: { rejectUnauthorized: false } } : {}),
      });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new NobodyThere(
        `${this.shown} does not answer: ${why}. Is the server running? See --url`,
        {
          cause: error,
        },
      );
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

function isRefused(body: unknown): body is Refused {
  return (
    typeof body === 'object' &&
    body !== null &&
    'error' in body &&
    typeof body.error === 'string' &&
    'description' in body &&
    typeof body.description === 'string'
  );
}
