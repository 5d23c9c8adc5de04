import { numberIn, operators } from './operators.ts';
import { patternOf } from './patterns.ts';
import { LuaTable, type LuaValue } from './table.ts';

/** The functions of Lua that scripts of the engine use. */

const { number, text } = operators;

const strings = {
  /** Only with `plain`, or for a pattern. Returns the places of the first and the last byte, and what was captured. */
  find(value: LuaValue, wanted: LuaValue, start: LuaValue, isPlain: LuaValue): readonly LuaValue[] {
    const subject = text(value);
    const from = placeOf(subject, start);
    if (operators.truth(isPlain)) {
      const at = subject.indexOf(text(wanted), from);
      return at === -1 ? [undefined] : [at + 1, at + text(wanted).length];
    }
    const found = search(subject, wanted, from);
    if (found === null) return [undefined];
    const [whole, ...captured] = found;
    return [found.index + 1, found.index + whole.length, ...captured];
  },
  match(value: LuaValue, pattern: LuaValue, start: LuaValue): LuaValue | readonly LuaValue[] {
    const subject = text(value);
    const found = search(subject, pattern, placeOf(subject, start));
    if (found === null) return undefined;
    return found.length === 1 ? found[0] : found.slice(1);
  },
  sub(value: LuaValue, start: LuaValue, end: LuaValue): string {
    const subject = text(value);
    const to = end === undefined ? -1 : number(end);
    return subject.slice(placeOf(subject, start), to < 0 ? subject.length + to + 1 : to);
  },
  format(pattern: LuaValue, ...values: LuaValue[]): string {
    let at = 0;
    return text(pattern).replace(/%(?:\.(\d)f|(?:0(\d))?d|(.))/g, (piece, digits, width, other) => {
      if (other !== undefined) throw new Error(`the model knows no ${piece}`);
      const value = number(values[at++]);
      if (digits !== undefined) return value.toFixed(Number(digits));
      return String(Math.trunc(value)).padStart(Number(width ?? 0), '0');
    });
  },
};

const tables = {
  concat(table: LuaValue, between: LuaValue, from: LuaValue, to: LuaValue): string {
    const items = table instanceof LuaTable ? table.items : [];
    const last = to === undefined ? items.length : number(to);
    const some = items.slice(from === undefined ? 0 : number(from) - 1, last);
    return some.map(text).join(between === undefined ? '' : text(between));
  },
};

const mathematics = {
  ceil: (value: LuaValue) => Math.ceil(number(value)),
  floor: (value: LuaValue) => Math.floor(number(value)),
  max: (...values: LuaValue[]) => Math.max(...values.map(number)),
  min: (...values: LuaValue[]) => Math.min(...values.map(number)),
};

/** What each script can use. */
export const library: Readonly<Record<string, LuaValue>> = {
  string: LuaTable.ofFields(strings),
  table: LuaTable.ofFields(tables),
  math: LuaTable.ofFields(mathematics),
  tonumber: (value) => (typeof value === 'string' ? numberIn(value) : numberOnly(value)),
  type: typeOf,
  unpack: (table) => (table instanceof LuaTable ? table.items : []),
};

function numberOnly(value: LuaValue): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function typeOf(value: LuaValue): string {
  if (value === undefined) return 'nil';
  return value instanceof LuaTable ? 'table' : typeof value;
}

/** Where to begin in a text: the number of bytes before that. */
function placeOf(subject: string, start: LuaValue): number {
  const place = start === undefined ? 1 : number(start);
  if (place > 0) return place - 1;
  return place === 0 ? 0 : Math.max(0, subject.length + place);
}

function search(subject: string, pattern: LuaValue, from: number): RegExpExecArray | null {
  const compiled = patternOf(text(pattern));
  compiled.lastIndex = from;
  return compiled.exec(subject);
}
