/** The place where a text stops being JSON, and what was expected there. */
export interface JsonFault {
  readonly offset: number;
  readonly expected: string;
}

// Sticky: each matches exactly where the last token ended.
const space = /[ \t\n\r]*/y;
const colon = /:/y;
const opening = /[{[]/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings.
const string = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const word = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

/**
 * Finds where a text stops being JSON, which the runtime's parser does not report. Returns `undefined` if and only if
 * the text is JSON, up to about 100,000 escapes in one string.
 */
export function findJsonFault(text: string): JsonFault | undefined {
  const open: string[] = [];
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
      return offset === text.length ? undefined : { offset, expected: 'the end of the file' };
    }
    if (next !== 'entry' && open.length > 0 && text[offset] === end) {
      open.pop();
      offset++;
      next = 'comma or end';
      continue;
    }
    if (next === 'comma or end') {
      if (text[offset] !== ',') return { offset, expected: `a comma or ${end}` };
      offset++;
      next = 'entry';
      continue;
    }

    if (isObject) {
      if (!take(string)) return { offset, expected: 'a name in double quotes' };
      take(space);
      if (!take(colon)) return { offset, expected: 'a colon' };
      take(space);
    }
    if (take(opening)) {
      open.push(text.charAt(offset - 1));
      next = 'first entry';
    } else if (take(string) || take(word)) {
      next = 'comma or end';
    } else {
      return { offset, expected: 'a value' };
    }
  }
}
