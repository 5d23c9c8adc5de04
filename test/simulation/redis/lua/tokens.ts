/** A piece of the source of a script. */
export interface Token {
  readonly kind: 'name' | 'word' | 'number' | 'text' | 'sign' | 'end';
  /** Of a text: its bytes. */
  readonly text: string;
  readonly line: number;
}

const WORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);

const PIECE =
  /[ \t\r]+|--(?!\[\[)[^\n]*|(?<line>\n)|(?<name>[A-Za-z_]\w*)|(?<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(?<sign>\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];,.])/y;

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** Reads the source of a script, as far as scripts of the engine use Lua. */
export function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = [];
  const piece = new RegExp(PIECE);
  let line = 1;
  while (piece.lastIndex < source.length) {
    const at = piece.lastIndex;
    const found = piece.exec(source)?.groups;
    if (found === undefined) throw unreadable(line, source.slice(at, at + 20));
    const { name, number, text, sign } = found;
    if (found['line'] !== undefined) line += 1;
    if (name !== undefined)
      tokens.push({ kind: WORDS.has(name) ? 'word' : 'name', text: name, line });
    if (number !== undefined) tokens.push({ kind: 'number', text: number, line });
    if (text !== undefined) tokens.push({ kind: 'text', text: unescaped(text), line });
    if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, line });
  }
  tokens.push({ kind: 'end', text: 'the end', line });
  return tokens;
}

export function unreadable(line: number, text: string): Error {
  return new Error(`the model cannot read line ${line} of a script: ${text}`);
}

function unescaped(quoted: string): string {
  return quoted
    .slice(1, -1)
    .replace(/\\(\d{1,3}|.)/gs, (_, code: string) =>
      /^\d/.test(code) ? String.fromCharCode(Number(code)) : (ESCAPES[code] ?? code),
    );
}
