import { errorCode, messageOf } from '../runtime/error-code.ts';

/** How long a server may take to respond. */
export const RESPONSE_TIMEOUT_MS = 10_000;

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

type Sent = BunFetchRequestInit & {
  /** The URL without secrets. */
  readonly shown: string;
  /** What to check if nothing answers. */
  readonly hint: string;
};

/** Sends a request to a running server. Throws `Unreachable`. */
export async function requestServer(url: string, sent: Sent): Promise<ServerResponse> {
  const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
  const response = await openServer(url, { ...sent, signal });
  const text = await response.text();
  return { ok: response.ok, status: response.status, text, body: parsed(text) };
}

/** Sends a request and settles with the head of the response. The signal limits the time. */
export async function openServer(url: string, sent: Sent): Promise<Response> {
  const { shown, hint, ...init } = sent;
  bypassProxy();
  try {
    return await fetch(url, { ...init, redirect: 'error' });
  } catch (error) {
    throw new Unreachable(`${shown} does not answer: ${whyOf(error)}. ${hint}`, { cause: error });
  }
}

function whyOf(error: unknown): string {
  switch (errorCode(error)) {
    case 'ECONNREFUSED':
      return 'nothing listens there (ECONNREFUSED)';
    case 'ENOTFOUND':
      return 'its name is unknown (ENOTFOUND)';
    case 'ECONNRESET':
      return 'it closed the connection (ECONNRESET)';
    default:
      return messageOf(error).replace(/\.$/, '');
  }
}

const THIS_MACHINE = '127.0.0.1,localhost,::1';

/** A proxy in the environment is for other machines, and most servers listen for commands on loopback only. */
function bypassProxy(): void {
  for (const name of ['NO_PROXY', 'no_proxy']) {
    const given = process.env[name] ?? '';
    if (!given.endsWith(THIS_MACHINE)) process.env[name] = `${given},${THIS_MACHINE}`;
  }
}

/** Parses JSON; `undefined` if the text is something else. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Another program than Fanfare answered. The caller reports that.
    return undefined;
  }
}
