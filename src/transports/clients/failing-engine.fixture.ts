import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Authority } from '../../channels/ports.ts';

/** How an engine answers and fails: in the call itself, or later. */
export type EngineMode = 'throws' | 'rejects';

/** Calls that take effect although they fail: an engine must not let them be forgotten. See `Authority`. */
const DONE_THOUGH_FAILED = ['leave', 'signOut', 'unwatch'];

/** An engine that fails at one of its calls, and else does what the one behind it does. */
export class FailingEngine {
  readonly authority: Authority;
  /** The calls since `failAt` was called. */
  readonly calls: string[] = [];
  /** The call that failed. */
  failed: string | undefined;
  private readonly mode: EngineMode;
  private number = 0;

  constructor(mode: EngineMode, memory: Authority) {
    this.mode = mode;
    this.authority = this.wrap(memory);
  }

  /** Lets the call with this number from now on fail; 0: none. */
  failAt(number: number): void {
    this.calls.length = 0;
    this.number = number;
  }

  private wrap<Engine extends object>(engine: Engine): Engine {
    return new Proxy(engine, {
      get: (target, name, receiver) => {
        const method = Reflect.get(target, name, receiver);
        if (typeof method !== 'function') return method;
        return (...given: unknown[]) =>
          this.answer(String(name), () => method.apply(target, given));
      },
    });
  }

  private answer(call: string, run: () => unknown): unknown {
    this.calls.push(call);
    if (this.calls.length === this.number) {
      this.failed = call;
      if (DONE_THOUGH_FAILED.includes(call)) run();
      const error = new Error(`No answer to ${call}`);
      if (this.mode === 'throws' || call === 'channels') throw error;
      return nextTurn().then(() => Promise.reject(error));
    }
    // A walk is there at once; only its pages may be late.
    if (call === 'channels') return this.wrap(run() as object);
    return this.mode === 'throws' ? run() : nextTurn().then(run);
  }
}
