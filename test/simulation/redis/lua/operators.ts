import { numberText } from './number-text.ts';
import { LuaTable, type LuaValue } from './table.ts';

/** What scripts do with values. The names are those in what `compile.ts` makes. */
export const operators = {
  ...{ truth, number, text, size, isLess, isAtMost, modulo, index, put, first, all },
  list: LuaTable.ofItems,
  record: LuaTable.ofFields,
};

/** How Lua prints a number. */
const DIGITS = 14;

export type Results = LuaValue | readonly LuaValue[];

function truth(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

/** A number for a calculation. */
function number(value: LuaValue): number {
  if (typeof value === 'number') return value;
  const read = typeof value === 'string' ? numberIn(value) : undefined;
  if (read === undefined)
    throw new Error(`a script calculates with ${typeof value} ${String(value)}`);
  return read;
}

/** A text to concatenate. */
function text(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return numberText(value, DIGITS);
  throw new Error(`a script concatenates a ${typeof value}`);
}

function size(value: LuaValue): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof LuaTable) return value.items.length;
  throw new Error(`a script asks for the length of a ${typeof value}`);
}

function isLess(a: LuaValue, b: LuaValue): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  if (typeof a === 'string' && typeof b === 'string') return a < b;
  throw new Error(`a script compares a ${typeof a} with a ${typeof b}`);
}

function isAtMost(a: LuaValue, b: LuaValue): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a <= b;
  return !isLess(b, a);
}

function modulo(a: number, b: number): number {
  return a - Math.floor(a / b) * b;
}

function index(table: LuaValue, key: LuaValue): LuaValue {
  if (table instanceof LuaTable) return table.get(key);
  throw new Error(`a script looks for ${String(key)} in a ${typeof table}`);
}

function put(table: LuaValue, key: LuaValue, value: LuaValue): void {
  if (!(table instanceof LuaTable)) throw new Error(`a script writes to a ${typeof table}`);
  table.set(key, value);
}

function first(results: Results): LuaValue {
  return isList(results) ? results[0] : results;
}

function all(results: Results): readonly LuaValue[] {
  return isList(results) ? results : [results];
}

function isList(results: Results): results is readonly LuaValue[] {
  return Array.isArray(results);
}

/** The number that a text holds for Lua; `undefined`: none. */
export function numberIn(value: string): number | undefined {
  const found = value.trim();
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(found)) return Number(found);
  if (/^[+-]?inf(?:inity)?$/i.test(found)) return found.startsWith('-') ? -Infinity : Infinity;
  return undefined;
}
