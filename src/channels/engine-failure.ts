import { attempt, type MaybePromise, recover } from './maybe-promise.ts';

/** An engine (roster, user roster, event cache) could not answer; `cause` is what it threw. */
export class EngineFailure extends Error {
  constructor(call: string, cause: unknown) {
    super(`The engine failed at ${call}`, { cause });
    this.name = 'EngineFailure';
  }
}

/** Asks an engine. What it throws or rejects with becomes a rejection with an `EngineFailure`. */
export function ask<T>(call: string, question: () => MaybePromise<T>): MaybePromise<T> {
  return attempt(() =>
    recover(question, (cause) => {
      throw new EngineFailure(call, cause);
    }),
  );
}

/** The stack of an error and of what caused it, for the log. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.stack ?? error.message;
  return error.cause === undefined ? text : `${text}\ncaused by ${describeFailure(error.cause)}`;
}
