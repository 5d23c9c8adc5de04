import type { OutgoingAnswer, SendRequest } from '../../../outgoing/request.ts';
import {
  KEY_SET_BYTES_MAX,
  type ParsedKeySet,
  readKeySet,
} from '../../../runtime/tokens/key-set.ts';

/** For the lookup, the connection and the answer together. */
const TIMEOUT_MS = 5_000;

/** Fetches key sets of issuers. Never fails: why there is none is part of the answer. */
export type FetchKeySet = (url: string, appId: string) => Promise<ParsedKeySet>;

export function createFetchKeySet(send: SendRequest): FetchKeySet {
  return async (url, appId) =>
    readAnswer(
      await send({
        url,
        owner: `app ${appId}`,
        headers: {
          accept: 'application/jwk-set+json, application/json',
          'accept-encoding': 'identity',
          'user-agent': 'fanfare',
        },
        timeoutMs: TIMEOUT_MS,
        // One more shows that it has more than it may.
        answerBytesMax: KEY_SET_BYTES_MAX + 1,
      }),
    );
}

function readAnswer(answer: OutgoingAnswer): ParsedKeySet {
  const failed = (why: string): ParsedKeySet => ({ ok: false, why });
  switch (answer.result) {
    case 'answered': {
      const { status, body } = answer;
      if (status >= 300 && status < 400)
        return failed(`HTTP ${status}; redirects are not followed`);
      if (status !== 200) return failed(`HTTP ${status}`);
      const read = readKeySet(body);
      return read.ok ? read : failed(`the answer is no key set: ${read.why}`);
    }
    case 'timeout':
      return failed(`no answer within ${TIMEOUT_MS / 1000} s`);
    case 'unreachable':
      return failed(answer.why);
    case 'not-allowed':
      return failed(`its address is not allowed: ${answer.why}`);
    default:
      return answer satisfies never;
  }
}
