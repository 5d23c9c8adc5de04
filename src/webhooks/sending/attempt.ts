import type { OutgoingAnswer, SendRequest } from '../../outgoing/request.ts';
import type { Timers } from '../../runtime/ports.ts';
import { ANSWER_BYTES } from '../limits.ts';
import type { AttemptOutcome, ClaimedRequest, Settlement, WebhookAttempt } from '../outbox.ts';
import { nextTryAt } from './back-off.ts';
import type { Signed } from './sign.ts';

export interface AttemptContext {
  readonly timers: Timers;
  readonly random: () => number;
  readonly send: SendRequest;
  readonly sign: (request: ClaimedRequest, body: string) => Signed;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Sends a request once and decides what follows; `undefined` if the server stopped waiting for the answer. */
export async function attemptOnce(
  request: ClaimedRequest,
  body: string,
  { timers, random, send, sign, timeoutMs, signal }: AttemptContext,
): Promise<Settlement | undefined> {
  const signed = sign(request, body);
  const atMs = timers.now();
  if (!signed.ok) {
    return { request, attempt: undefined, next: { state: 'failed', atMs, reason: signed.reason } };
  }
  const answer = await send({
    url: request.url,
    owner: `${request.kind === 'channels' ? 'app' : 'instance'} ${request.ownerId}`,
    headers: signed.headers,
    body,
    timeoutMs,
    answerBytesMax: ANSWER_BYTES,
    signal,
  });
  const nowMs = timers.now();
  const attempt: WebhookAttempt = {
    number: request.attempts + 1,
    atMs,
    durationMs: nowMs - atMs,
    ...readAnswer(answer),
  };
  if (signal.aborted && attempt.outcome !== 'delivered') return undefined;
  return { request, attempt, next: afterAttempt(request, attempt, nowMs, random()) };
}

/** What an endpoint's answer means. Source: Channels docs, "Webhooks": any 2xx is a success. */
function readAnswer(answer: OutgoingAnswer): Pick<WebhookAttempt, 'outcome' | 'status' | 'answer'> {
  switch (answer.result) {
    case 'answered': {
      const { status } = answer;
      const outcome = status >= 200 && status < 300 ? 'delivered' : 'refused';
      // PostgreSQL stores no text with a zero character.
      const text = new TextDecoder().decode(answer.body).replaceAll('\0', '\uFFFD');
      return { outcome, status, answer: text };
    }
    case 'timeout':
      return { outcome: 'timeout', status: undefined, answer: 'no answer in time' };
    case 'unreachable':
    case 'not-allowed':
      return { outcome: answer.result, status: undefined, answer: answer.why };
    default:
      return answer satisfies never;
  }
}

function afterAttempt(
  request: ClaimedRequest,
  { atMs, outcome, status, answer }: WebhookAttempt,
  nowMs: number,
  random: number,
): Settlement['next'] {
  if (outcome === 'delivered') return { state: 'delivered', atMs: nowMs, reason: `HTTP ${status}` };
  const reason = reasons[outcome](status, answer);
  // A retry needs a change of the configuration; the request can be replayed after it.
  if (outcome === 'not-allowed') return { state: 'failed', atMs: nowMs, reason };
  const firstTryAtMs = request.firstTryAtMs ?? atMs;
  const tries = request.tries + 1;
  const nextAtMs = nextTryAt[request.kind]({ tries, firstTryAtMs, nowMs, random });
  return nextAtMs === undefined
    ? { state: 'failed', atMs: nowMs, reason }
    : { state: 'waiting', atMs: nextAtMs };
}

const reasons: Record<
  Exclude<AttemptOutcome, 'delivered'>,
  (status: number | undefined, answer: string) => string
> = {
  refused: (status) => `HTTP ${status}`,
  timeout: () => 'No answer in time',
  unreachable: (_, why) => `Unreachable: ${why}`,
  'not-allowed': (_, why) => `Not allowed: ${why}`,
};
