import type { MaybePromise } from './maybe-promise.ts';

/** An engine could not answer; `cause` is what it threw. */
export class EngineFailure extends Error {
  constructor(call: string, cause: unknown) {
    super(`The engine failed at ${call}`, { cause });
    this.name = 'EngineFailure';
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
 * An error for the log: the message, then the stack of its cause. The log truncates long texts, so the cause must
 * come early.
 */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause === undefined) return error.stack ?? error.message;
  return `${error.message}, caused by ${describeFailure(error.cause)}`;
}
