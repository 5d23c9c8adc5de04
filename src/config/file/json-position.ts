/** The place where a text stops being JSON, or sets a name again, and what is wrong there. */
export interface JsonFault {
  readonly offset: number;
  readonly why: string;
}

// Sticky: each matches exactly where the last token ended.
const space = /[ \t\n\r]*/y;
const colon = /:/y;
const opening = /[{[]/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings.
const string = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const word = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

/**
 * Finds where a text stops being JSON, which the runtime's parser does not report, or where an object has a name for the
 * second time, of which that parser loses the first without a word. Returns `undefined` for all other JSON, up to about
 * 100,000 escapes in one string.
 */
export function findJsonFault(text: string): JsonFault | undefined {
  const open: string[] = [];
  /** The names of each open object so far. */
  const names: Set<unknown>[] = [];
  let next: 'first entry' | 'entry' | 'comma or end' = 'entry';
  let offset = 0;
  const take = (token: RegExp) => {
    token.lastIndex = offset;
    if (!token.test(text)) return false;
    offset = token.lastIndex;
    return true;
  };

  for (;;) {
    take(space);
    const isObject = open.at(-1) === '{';
    const end = isObject ? '}' : ']';

    if (next === 'comma or end' && open.length === 0) {
      return offset === text.length ? undefined : { offset, why: 'expected the end of the file' };
    }
    if (next !== 'entry' && open.length > 0 && text[offset] === end) {
      open.pop();
      names.pop();
      offset++;
      next = 'comma or end';
      continue;
    }
    if (next === 'comma or end') {
      if (text[offset] !== ',') return { offset, why: `expected a comma or ${end}` };
      offset++;
      next = 'entry';
      continue;
    }

    if (isObject) {
      const from = offset;
      if (!take(string)) return { offset, why: 'expected a name in double quotes' };
      const name = text.slice(from, offset);
      take(space);
      if (!take(colon)) return { offset, why: 'expected a colon' };
      const known = names.at(-1);
      if (known?.has(JSON.parse(name)))
        return { offset: from, why: `${name} is set for the second time` };
      known?.add(JSON.parse(name));
      take(space);
    }
    if (take(opening)) {
      open.push(text.charAt(offset - 1));
      names.push(new Set());
      next = 'first entry';
    } else if (take(string) || take(word)) {
      next = 'comma or end';
    } else {
      return { offset, why: 'expected a value' };
    }
  }
}
