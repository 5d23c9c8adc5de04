/**
 * The parts of `fengari` that the model uses, changed to count as Lua 5.1 does, which Redis runs.
 *
 * `fengari` is Lua 5.3, with integers of 32 bits. In Lua 5.1 all numbers are floats, and whole ones are printed without a
 * point. So each numeral and each text that becomes a number is a float here. Integers are left where the library itself
 * counts: lengths, places in texts, and rounded numbers that fit.
 */

/** Texts up to this length are read byte by byte. */
const SHORT = 48;

/** A Lua state. */
export type LuaState = { readonly lua: unique symbol };

interface Value {
  readonly value: number;
  setfltvalue(value: number): void;
  setsvalue(text: unknown): void;
}

interface Strings {
  luaS_new: (state: LuaState, bytes: Uint8Array) => unknown;
  readonly luaS_bless: (state: LuaState, bytes: Uint8Array) => unknown;
  luaS_hash: (bytes: Uint8Array) => string;
  luaS_hashlongstr: (text: Text) => string;
}

interface Text {
  readonly realstring: Uint8Array;
  hash: string | null;
}

interface Objects {
  luaO_str2num: (text: Uint8Array, into: Value) => number;
  luaO_tostring: (state: LuaState, value: Value) => void;
}

interface Lua {
  readonly LUA_REGISTRYINDEX: number;
  readonly LUA_TBOOLEAN: number;
  readonly LUA_TNIL: number;
  readonly LUA_TNUMBER: number;
  readonly LUA_TSTRING: number;
  readonly LUA_TTABLE: number;
  readonly lua_Debug: new () => { readonly currentline: number };
  lua_createtable(state: LuaState, items: number, fields: number): void;
  lua_error(state: LuaState): never;
  lua_getfield(state: LuaState, at: number, name: Uint8Array): number;
  lua_getinfo(state: LuaState, what: Uint8Array, into: object): number;
  lua_getstack(state: LuaState, level: number, into: object): number;
  lua_gettop(state: LuaState): number;
  lua_pcall(state: LuaState, args: number, results: number, handler: number): number;
  lua_pop(state: LuaState, count: number): void;
  lua_pushboolean(state: LuaState, value: boolean): void;
  lua_pushcfunction(state: LuaState, run: (state: LuaState) => number): void;
  lua_pushnumber(state: LuaState, value: number): void;
  lua_pushstring(state: LuaState, text: Uint8Array): void;
  lua_rawgeti(state: LuaState, at: number, index: number): number;
  lua_rawseti(state: LuaState, at: number, index: number): void;
  lua_setfield(state: LuaState, at: number, name: Uint8Array): void;
  lua_setglobal(state: LuaState, name: Uint8Array): void;
  lua_getglobal(state: LuaState, name: Uint8Array): void;
  lua_settop(state: LuaState, top: number): void;
  lua_toboolean(state: LuaState, at: number): boolean;
  lua_tonumber(state: LuaState, at: number): number;
  lua_tostring(state: LuaState, at: number): Uint8Array;
  lua_type(state: LuaState, at: number): number;
}

interface Auxiliary {
  luaL_loadbuffer(state: LuaState, code: Uint8Array, size: number, name: Uint8Array): number;
  luaL_newstate(): LuaState;
  luaL_ref(state: LuaState, at: number): number;
  luaL_tolstring: (state: LuaState, at: number) => Uint8Array;
  luaL_requiref(
    state: LuaState,
    name: Uint8Array,
    open: (state: LuaState) => number,
    global: number,
  ): void;
}

type Library = (state: LuaState) => number;

interface Libraries {
  readonly luaopen_base: Library;
  readonly luaopen_string: Library;
  readonly luaopen_table: Library;
  readonly luaopen_math: Library;
}

// The order matters: what is changed here is taken by what is loaded next.
const strings = (await import('fengari/src/lstring.js')).default as Strings;
// A quicker copy. The others take it from here when they are loaded. Some call it with `new`.
strings.luaS_new = function copied(state, bytes) {
  return strings.luaS_bless(state, new Uint8Array(bytes));
};
// The keys of texts in tables. Those of fengari are slow, and some texts share one.
strings.luaS_hash = (bytes) => `|${textOf(bytes)}`;
strings.luaS_hashlongstr = (text) => {
  text.hash ??= strings.luaS_hash(text.realstring);
  return text.hash;
};

export const lua = (await import('fengari/src/lua.js')).default as Lua;

// The others look these functions up at each call.
const objects = (await import('fengari/src/lobject.js')).default as Objects;
const { luaO_str2num } = objects;
objects.luaO_str2num = (text, into) => {
  const read = luaO_str2num(text, into);
  if (read === 0) return 0;
  // It counts only with 32 bits where a hexadecimal number has more, which no script has.
  into.setfltvalue(into.value);
  return read;
};
objects.luaO_tostring = (state, value) => {
  value.setsvalue(strings.luaS_bless(state, bytesOf(numberText(value.value, 14))));
};

export const auxiliary = (await import('fengari/src/lauxlib.js')).default as Auxiliary;
const { luaL_tolstring } = auxiliary;
auxiliary.luaL_tolstring = (state, at) => {
  if (lua.lua_type(state, at) !== lua.LUA_TNUMBER) return luaL_tolstring(state, at);
  lua.lua_pushstring(state, bytesOf(numberText(lua.lua_tonumber(state, at), 14)));
  return lua.lua_tostring(state, -1);
};
export const libraries = (await import('fengari/src/lualib.js')).default as Libraries;

/** The bytes of a text that has one in each character. */
export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** The text that has one byte in each character. */
export function textOf(bytes: Uint8Array): string {
  if (bytes.length <= SHORT) {
    // The memory behind a short array is made when it is asked for, which takes longer than this.
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte);
    return text;
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** Prints a number as `%.<digits>g` does in C. */
export function numberText(value: number, digits: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 10 ** Math.min(digits, 15)) {
    return Object.is(value, -0) ? '-0' : String(value);
  }
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const [mantissa = '', power = ''] = value.toExponential(digits - 1).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits)
    return withoutZeros(value.toFixed(digits - 1 - exponent));
  const sign = exponent < 0 ? '-' : '+';
  return `${withoutZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
