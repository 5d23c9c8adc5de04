import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';

/** `docs/operate/operate.md` explains what the server logs as an error or a warning, by its text. */

const ROOT = join(import.meta.dir, '..');

/** The texts that calls of `error` and `warn` of a log begin with, and those that are handed to them. */
async function messagesOf(level: 'error' | 'warn'): Promise<ReadonlySet<string>> {
  const messages = new Set<string>();
  for (const file of new Glob('src/**/*.ts').scanSync(ROOT)) {
    if (/\.(?:test|fixture)\.ts$|^src\/(?:dashboard|doctor|cli\/(?!serving))/.test(file)) continue;
    const code = await Bun.file(join(ROOT, file)).text();
    for (const [, text = ''] of code.matchAll(
      new RegExp(`[lL]og\\.${level}\\(\\s*'((?:[^'\\\\]|\\\\.)+)'`, 'g'),
    )) {
      messages.add(text);
    }
  }
  return messages;
}

describe('operate.md', async () => {
  const page = await Bun.file(join(ROOT, 'docs/operate/operate.md')).text();
  const [, section = ''] = /^### By what the log says$([\s\S]*?)^### /m.exec(page) ?? [];
  const rows = [...section.matchAll(/^\| `(.+?)` \|/gm)].map(([, text = '']) => text);

  it('has a row for every error that the server logs', async () => {
    const errors = await messagesOf('error');
    expect(errors.size).toBeGreaterThan(20);
    expect([...errors].filter((text) => !rows.includes(text))).toEqual([]);
  });

  it('has each message once, in the order of the alphabet', () => {
    const sorted = rows.toSorted((one, other) => one.localeCompare(other, 'en'));
    expect(rows).toEqual(sorted);
    expect(new Set(rows).size).toBe(rows.length);
  });

  it('has no message that the server does not log', async () => {
    const code: string[] = [];
    for (const file of new Glob('src/**/*.ts').scanSync(ROOT)) {
      if (!/\.(?:test|fixture)\.ts$/.test(file)) code.push(await Bun.file(join(ROOT, file)).text());
    }
    const all = code.join('\n');
    expect(rows.filter((text) => !all.includes(`'${text}'`))).toEqual([]);
    // Also those that a row refers to.
    const named = [...section.matchAll(/(?:see |; |until )`([A-Z][^`]+)`/g)].map(
      ([, text = '']) => text,
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((text) => !all.includes(`'${text}'`))).toEqual([]);
  });
});
