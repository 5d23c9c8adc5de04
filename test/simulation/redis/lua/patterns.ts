const compiled = new Map<string, RegExp>();

const CLASSES: Readonly<Record<string, string>> = {
  a: 'A-Za-z',
  d: '0-9',
  s: ' \\t-\\r',
  w: '0-9A-Za-z',
};

/** Compiles a pattern of Lua, which begins at `lastIndex` or later. Texts have one byte in each character. */
export function patternOf(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const isAnchored = pattern.startsWith('^');
  const made = new RegExp(translated(pattern.slice(isAnchored ? 1 : 0)), isAnchored ? 'y' : 'g');
  compiled.set(pattern, made);
  return made;
}

function translated(pattern: string): string {
  return pattern.replace(/\[(\^?)(\]?(?:%.|[^\]])*)\]|%(.)|./gs, (piece, not, set, escaped) => {
    if (set !== undefined) return `[${not}${membersOf(set)}]`;
    if (escaped !== undefined) return classOf(escaped);
    if (piece === '.') return '[\\s\\S]';
    // As few as possible.
    if (piece === '-') return '*?';
    return /[()*+?$]/.test(piece) ? piece : quoted(piece);
  });
}

function membersOf(set: string): string {
  return set.replace(/%(.)|[\]\\[]/g, (piece, escaped) =>
    escaped === undefined ? quoted(piece) : (CLASSES[escaped] ?? quoted(escaped)),
  );
}

function classOf(letter: string): string {
  const members = CLASSES[letter.toLowerCase()];
  if (members !== undefined) return `[${letter === letter.toLowerCase() ? '' : '^'}${members}]`;
  if (/\w/.test(letter)) throw new Error(`the model knows no %${letter}`);
  return quoted(letter);
}

function quoted(character: string): string {
  return /[\\^$.*+?()[\]{}|/-]/.test(character) ? `\\${character}` : character;
}
