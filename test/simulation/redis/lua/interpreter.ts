import { Failure, type Reply, Status } from '../reply.ts';
import { type Compiled, compile } from './compile.ts';
import { library } from './library.ts';
import { numberText } from './number-text.ts';
import { type LuaFunction, LuaTable, type LuaValue } from './table.ts';

/** Runs a command for a script. A failure is returned. */
type Call = (words: readonly string[]) => Reply;

export interface ScriptCall {
  readonly sha1: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** Deeper tables make Redis give up. */
const DEPTH_MAX = 100;
/** Redis 7.0 prints numbers with 17 digits, not with the 14 of Lua. */
const DIGITS = 17;

/** By source. Each Redis has the same scripts. */
const compiled = new Map<string, Compiled>();

/** A command that a script has called has failed. */
class CallFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Runs scripts as Redis does: with `KEYS`, `ARGV`, `redis.call` and `redis.pcall`. */
export class Interpreter {
  private readonly globals: Readonly<Record<string, unknown>>;
  private readonly bodies = new Map<string, LuaFunction>();

  constructor(call: Call) {
    const redis = LuaTable.ofFields({
      call: (...values) => {
        const reply = call(values.map(wordOf));
        if (reply instanceof Failure) throw new CallFailed(reply);
        return luaOf(reply);
      },
      pcall: (...values) => luaOf(call(values.map(wordOf))),
    });
    this.globals = { ...library, redis };
  }

  has(sha1: string): boolean {
    return this.bodies.has(sha1);
  }

  load(sha1: string, source: string): void {
    if (this.bodies.has(sha1)) return;
    const make = compiled.get(source) ?? compile(source);
    compiled.set(source, make);
    this.bodies.set(sha1, make(this.globals));
  }

  run({ sha1, keys, args }: ScriptCall): Reply {
    const body = this.bodies.get(sha1);
    if (body === undefined) throw new Error('the script is not loaded');
    try {
      const results = body(LuaTable.ofItems(keys), LuaTable.ofItems(args));
      return replyOf(Array.isArray(results) ? results[0] : (results as LuaValue), 0);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      // The model does not know the line.
      return new Failure(`${error.message} script: ${sha1}, on @user_script:0.`);
    }
  }
}

function wordOf(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return numberText(value, DIGITS);
  throw new Error('a script has given a command something else than texts and numbers');
}

function luaOf(reply: Reply): LuaValue {
  if (reply === null) return false;
  if (typeof reply === 'string' || typeof reply === 'number') return reply;
  if (reply instanceof Status) return LuaTable.ofFields({ ok: reply.text });
  if (reply instanceof Failure) return LuaTable.ofFields({ err: reply.message });
  return LuaTable.ofItems(reply.map(luaOf));
}

function replyOf(value: LuaValue, depth: number): Reply {
  if (depth > DEPTH_MAX) throw new Error('a script has returned tables in tables without an end');
  if (typeof value === 'string') return value;
  // Without the sign of -0.
  if (typeof value === 'number') return Math.trunc(value) + 0;
  if (value === true) return 1;
  if (!(value instanceof LuaTable)) return null;
  const [failure, status] = [value.get('err'), value.get('ok')];
  if (typeof failure === 'string') return new Failure(failure);
  if (typeof status === 'string') return new Status(status);
  return value.items.map((item) => replyOf(item, depth + 1));
}
