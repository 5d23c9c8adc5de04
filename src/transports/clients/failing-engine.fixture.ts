import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventCache, Roster, UserRoster } from '../../channels/ports.ts';
import { MemoryEventCache } from '../../engines/memory/event-cache.ts';
import { MemoryRoster } from '../../engines/memory/roster.ts';
import { MemoryUserRoster } from '../../engines/memory/user-roster.ts';
import type { Clock } from '../../runtime/ports.ts';

/** How an engine answers and fails: in the call itself, or later. */
export type EngineMode = 'throws' | 'rejects';

/** These have happened although they fail: an engine must not let them be forgotten. See `Roster` and `UserRoster`. */
const DONE_THOUGH_FAILED = ['leave', 'signOut'];

/** An engine in memory that fails at one of its calls. */
export class FailingEngine {
  readonly memory = { roster: new MemoryRoster(), users: new MemoryUserRoster() };
  readonly roster: Roster;
  readonly users: UserRoster;
  readonly cache: EventCache;
  /** The calls since `failAt` was called. */
  readonly calls: string[] = [];
  /** The call that failed. */
  failed: string | undefined;
  private readonly mode: EngineMode;
  private number = 0;

  constructor(mode: EngineMode, clock: Clock) {
    this.mode = mode;
    this.roster = this.wrap<Roster>(this.memory.roster);
    this.users = this.wrap<UserRoster>(this.memory.users);
    this.cache = this.wrap<EventCache>(new MemoryEventCache(clock));
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
    const value = run();
    // A walk is there at once; only its pages may be late.
    if (call === 'channels') return this.wrap(value as object);
    return this.mode === 'throws' ? value : nextTurn().then(() => value);
  }
}
