import { messageOf, stackOf } from '../runtime/error-code.ts';
import type { RateLimitedLog, Whose } from '../runtime/logging/rate-limited-log.ts';
import type { LogFields } from '../runtime/ports.ts';
import type { MaybePromise } from './maybe-promise.ts';

/** An engine could not answer; `cause` is what it threw. */
export class EngineFailure extends Error {
  constructor(call: string, cause: unknown) {
    super(`The engine failed at ${call}`, { cause });
    this.name = 'EngineFailure';
  }
}

/** An engine cannot be asked at the moment: an outage of another service, and no fault of this program. */
export class EngineUnavailable extends Error {
  constructor(why: string, options?: ErrorOptions) {
    super(why, options);
    this.name = 'EngineUnavailable';
  }
}

/** Asks an engine. What it throws or rejects with becomes a rejection with an `EngineFailure`. */
export function ask<T>(call: string, question: () => MaybePromise<T>): MaybePromise<T> {
  // Without `recover`: this runs for each subscription and event, and a function per call costs as much as the call.
  try {
    const answer = question();
    return answer instanceof Promise ? answer.catch((cause) => failure(call, cause)) : answer;
  } catch (cause) {
    return failure(call, cause);
  }
}

function failure(call: string, cause: unknown): Promise<never> {
  return Promise.reject(new EngineFailure(call, cause));
}

/**
 * Logs that work for somebody failed inside the server. An outage of the engine, which has a line of its own, makes one
 * warning for all of them.
 */
export function logFailure(
  log: RateLimitedLog,
  error: unknown,
  { message, whose, fields }: { message: string; whose: Whose; fields: LogFields },
): void {
  const cause = error instanceof EngineFailure ? error.cause : undefined;
  if (cause instanceof EngineUnavailable) {
    const why = messageOf(cause.cause ?? cause);
    return log.warn('Requests are refused, because the engine cannot be asked', {}, { why });
  }
  log.error(message, whose, { ...fields, error: describeFailure(error) });
}

/**
 * An error for the log: the message, then the stack of its cause. The log truncates long texts, so the cause must
 * come early.
 */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error) || error.cause === undefined) return stackOf(error);
  return `${error.message}, caused by ${describeFailure(error.cause)}`;
}
