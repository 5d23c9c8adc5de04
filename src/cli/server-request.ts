import { messageOf } from '../runtime/error-code.ts';

/** How long a server may take to respond. */
const RESPONSE_TIMEOUT_MS = 10_000;

/** No connection to a server could be made. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export interface ServerResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly text: string;
  /** Parsed JSON; `undefined` if the body is something else. */
  readonly body: unknown;
}

/** Sends a request to a running server. Throws `Unreachable`. `shown` is the URL without secrets, for the message. */
export async function requestServer(
  url: string,
  { shown, hint = '', ...init }: BunFetchRequestInit & { shown: string; hint?: string },
): Promise<ServerResponse> {
  let response: Response;
  try {
    response = await fetch(url, {
      ...init,
      redirect: 'error',
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
    });
  } catch (error) {
    const why = messageOf(error);
    throw new Unreachable(`${shown} does not answer: ${why}${hint}`, { cause: error });
  }
  const text = await response.text();
  return { ok: response.ok, status: response.status, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Another program than Fanfare answered; the caller says so.
    return undefined;
  }
}
