/** The columns of a line. */
const WIDTH = 120;

/** Prints JSON with each object and list that fits on one line. */
export function printJson(value: unknown): string {
  return `${print(value, 0, 0)}\n`;
}

/** `before`: the columns that its line already has. */
function print(value: unknown, depth: number, before: number): string {
  const line = onOneLine(value);
  if (typeof value !== 'object' || value === null || before + line.length < WIDTH) return line;
  const indent = '  '.repeat(depth + 1);
  const parts = Array.isArray(value)
    ? value.map((one) => `${indent}${print(one, depth + 1, indent.length)}`)
    : entriesOf(value).map(([name, one]) => {
        const start = `${indent}${JSON.stringify(name)}: `;
        return `${start}${print(one, depth + 1, start.length)}`;
      });
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${parts.join(',\n')}\n${'  '.repeat(depth)}${close}`;
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = entriesOf(value).map(
    ([name, one]) => `${JSON.stringify(name)}: ${onOneLine(one)}`,
  );
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/** JSON has no fields that are undefined. */
function entriesOf(value: object): readonly (readonly [string, unknown])[] {
  return Object.entries(value).filter(([, one]) => one !== undefined);
}
