import { HTTPAuthError } from '../errors.ts';
import type { Authorizer, AuthType } from './authorizer.ts';

/** How long a backend may think. */
const TIMEOUT_MS = 60_000;

export function requestFailed(type: AuthType, endpoint: string, status: number): HTTPAuthError {
  return new HTTPAuthError(
    status,
    `Unable to retrieve auth string from ${type} endpoint - received status: ${status} from ${endpoint}.`,
  );
}

/** Asks by a POST. */
export const ajax: Authorizer = (runtime, { query, options, type }, callback) => {
  const { endpoint, headers, headersProvider } = options;
  const ask = async () => {
    let status = 0;
    let text = '';
    const sent = {
      'Content-Type': 'application/x-www-form-urlencoded',
      ...headers,
      ...headersProvider?.(),
    };
    try {
      const answer = await fetch(endpoint, {
        method: 'POST',
        headers: sent,
        body: query,
        credentials: options.credentials ?? runtime.credentials(),
        signal: AbortSignal.timeout?.(TIMEOUT_MS) ?? null,
      });
      text = await answer.text();
      status = answer.status;
    } catch {
      // There is no answer.
    }
    if (status !== 200) throw requestFailed(type, endpoint, status);
    let data: unknown;
    try {
      data = JSON.parse(text);
    } catch {
      // Reported with what is no object.
    }
    if (data && typeof data === 'object') return data;
    throw new HTTPAuthError(
      200,
      `JSON returned from ${type} endpoint was invalid, yet status code was 200. Data was: ${text}`,
    );
  };
  void ask().then(
    (data) => callback(null, data as never),
    (error) => callback(error, null as never),
  );
};
