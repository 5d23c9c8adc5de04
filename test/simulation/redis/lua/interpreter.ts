import { Failure, type Reply, Status } from '../reply.ts';
import {
  auxiliary,
  bytesOf,
  type LuaState,
  libraries,
  lua,
  numberText,
  textOf,
} from './fengari.ts';

/** Runs a command for a script. A failure is returned. */
type Call = (words: readonly string[]) => Reply;

export interface ScriptCall {
  readonly sha1: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** Deeper tables make Redis give up. */
const DEPTH_MAX = 100;

/** Runs scripts as Redis does: with `KEYS`, `ARGV`, `redis.call` and `redis.pcall`. */
export class Interpreter {
  private readonly state: LuaState;
  private readonly call: Call;
  private readonly functions = new Map<string, number>();
  /** What the model itself has thrown while a script ran. */
  private fault: unknown;

  constructor(call: Call) {
    this.call = call;
    this.state = auxiliary.luaL_newstate();
    const { state } = this;
    const opened = [
      ['_G', libraries.luaopen_base],
      ['string', libraries.luaopen_string],
      ['table', libraries.luaopen_table],
      ['math', libraries.luaopen_math],
    ] as const;
    for (const [name, open] of opened) {
      auxiliary.luaL_requiref(state, bytesOf(name), open, 1);
      if (name === 'table') {
        // Its name in Lua 5.1.
        lua.lua_getfield(state, -1, bytesOf('unpack'));
        lua.lua_setglobal(state, bytesOf('unpack'));
      }
      lua.lua_pop(state, 1);
    }
    lua.lua_createtable(state, 0, 2);
    lua.lua_pushcfunction(state, () => this.redisCall(true));
    lua.lua_setfield(state, -2, bytesOf('call'));
    lua.lua_pushcfunction(state, () => this.redisCall(false));
    lua.lua_setfield(state, -2, bytesOf('pcall'));
    lua.lua_setglobal(state, bytesOf('redis'));
  }

  has(sha1: string): boolean {
    return this.functions.has(sha1);
  }

  /** Compiles a script. Throws a `Failure`. */
  load(sha1: string, source: string): void {
    if (this.functions.has(sha1)) return;
    const { state } = this;
    const code = bytesOf(source);
    if (auxiliary.luaL_loadbuffer(state, code, code.length, bytesOf('@user_script')) !== 0) {
      const why = textOf(lua.lua_tostring(state, -1));
      lua.lua_pop(state, 1);
      throw new Failure(`ERR Error compiling script (new function): ${why}`);
    }
    this.functions.set(sha1, auxiliary.luaL_ref(state, lua.LUA_REGISTRYINDEX));
  }

  run({ sha1, keys, args }: ScriptCall): Reply {
    const { state } = this;
    const body = this.functions.get(sha1);
    if (body === undefined) throw new Error('the script is not loaded');
    this.pushTexts(keys);
    lua.lua_setglobal(state, bytesOf('KEYS'));
    this.pushTexts(args);
    lua.lua_setglobal(state, bytesOf('ARGV'));
    lua.lua_rawgeti(state, lua.LUA_REGISTRYINDEX, body);
    this.fault = undefined;
    const failed = lua.lua_pcall(state, 0, 1, 0) !== 0;
    if (this.fault !== undefined) throw this.fault;
    const reply = failed ? this.failureOf(sha1) : this.replyAt(-1, 0);
    lua.lua_settop(state, 0);
    return reply;
  }

  private redisCall(isRaised: boolean): number {
    const { state } = this;
    const words = Array.from({ length: lua.lua_gettop(state) }, (_, at) => this.wordAt(at + 1));
    let reply: Reply;
    try {
      reply = this.call(words);
    } catch (error) {
      this.fault ??= error;
      throw error;
    }
    this.push(reply);
    if (!isRaised || !(reply instanceof Failure)) return 1;
    const line = this.lineOfCaller();
    lua.lua_pushnumber(state, line);
    lua.lua_setfield(state, -2, bytesOf('line'));
    return lua.lua_error(state);
  }

  private lineOfCaller(): number {
    const debug = new lua.lua_Debug();
    if (lua.lua_getstack(this.state, 1, debug) === 0) return 0;
    lua.lua_getinfo(this.state, bytesOf('Sl'), debug);
    return debug.currentline;
  }

  private wordAt(at: number): string {
    const { state } = this;
    // Redis 7.0 prints numbers with 17 digits, not with the 14 of Lua.
    if (lua.lua_type(state, at) === lua.LUA_TNUMBER) {
      return numberText(lua.lua_tonumber(state, at), 17);
    }
    if (lua.lua_type(state, at) === lua.LUA_TSTRING) return textOf(lua.lua_tostring(state, at));
    throw new Error('a script has given a command something else than texts and numbers');
  }

  private pushTexts(texts: readonly string[]): void {
    this.push(texts);
  }

  private push(reply: Reply): void {
    const { state } = this;
    if (reply === null) lua.lua_pushboolean(state, false);
    else if (typeof reply === 'string') lua.lua_pushstring(state, bytesOf(reply));
    else if (typeof reply === 'number') lua.lua_pushnumber(state, reply);
    else if (reply instanceof Status) this.pushField('ok', reply.text);
    else if (reply instanceof Failure) this.pushField('err', reply.message);
    else {
      lua.lua_createtable(state, reply.length, 0);
      for (const [index, item] of reply.entries()) {
        this.push(item);
        lua.lua_rawseti(state, -2, index + 1);
      }
    }
  }

  private pushField(name: string, text: string): void {
    lua.lua_createtable(this.state, 0, 1);
    lua.lua_pushstring(this.state, bytesOf(text));
    lua.lua_setfield(this.state, -2, bytesOf(name));
  }

  private replyAt(at: number, depth: number): Reply {
    const { state } = this;
    if (depth > DEPTH_MAX) throw new Error('a script has returned tables in tables without an end');
    switch (lua.lua_type(state, at)) {
      case lua.LUA_TSTRING:
        return textOf(lua.lua_tostring(state, at));
      case lua.LUA_TNUMBER:
        // Without the sign of -0.
        return Math.trunc(lua.lua_tonumber(state, at)) + 0;
      case lua.LUA_TBOOLEAN:
        return lua.lua_toboolean(state, at) ? 1 : null;
      case lua.LUA_TTABLE:
        return this.tableAt(depth);
      default:
        return null;
    }
  }

  /** The table on top of the stack. */
  private tableAt(depth: number): Reply {
    const { state } = this;
    const failure = this.fieldOf('err');
    if (failure !== undefined) return new Failure(failure);
    const status = this.fieldOf('ok');
    if (status !== undefined) return new Status(status);
    const items: Reply[] = [];
    for (let index = 1; ; index += 1) {
      const type = lua.lua_rawgeti(state, -1, index);
      const item = type === lua.LUA_TNIL ? undefined : this.replyAt(-1, depth + 1);
      lua.lua_pop(state, 1);
      if (item === undefined) return items;
      items.push(item);
    }
  }

  private fieldOf(name: string): string | undefined {
    const { state } = this;
    const type = lua.lua_getfield(state, -1, bytesOf(name));
    const text = type === lua.LUA_TSTRING ? textOf(lua.lua_tostring(state, -1)) : undefined;
    lua.lua_pop(state, 1);
    return text;
  }

  /** What Redis answers after the error on top of the stack. */
  private failureOf(sha1: string): Failure {
    const { state } = this;
    if (lua.lua_type(state, -1) !== lua.LUA_TTABLE) {
      const why = textOf(lua.lua_tostring(state, -1));
      const line = /^user_script:(\d+)/.exec(why)?.[1] ?? '0';
      return new Failure(`ERR ${why} script: ${sha1}, on @user_script:${line}.`);
    }
    const why = this.fieldOf('err') ?? 'ERR unknown error';
    lua.lua_getfield(state, -1, bytesOf('line'));
    const line = lua.lua_tonumber(state, -1);
    return new Failure(`${why} script: ${sha1}, on @user_script:${line}.`);
  }
}
