import { describe, expect, it } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import packageJson from '../package.json';
import { pages } from '../scripts/pages.ts';

const ROOT = join(import.meta.dir, '..');

describe('the documentation', () => {
  it.each(Object.keys(pages))(
    'docs/%s is what the code prints now (npm run docs)',
    async (name) => {
      const text = await Bun.file(join(ROOT, 'docs', name)).text();
      expect(text === pages[name]?.()).toBe(true);
    },
  );

  it('has a line for every runtime dependency', async () => {
    const text = await Bun.file(join(ROOT, 'docs/dependencies.md')).text();
    for (const name of Object.keys(packageJson.dependencies)) expect(text).toContain(`\`${name}\``);
  });

  it('links only to files that are there', async () => {
    const dead: string[] = [];
    let read = 0;
    for (const page of [
      ...new Glob('*.md').scanSync(ROOT),
      ...new Glob('docs/*.md').scanSync(ROOT),
    ]) {
      read++;
      const text = await Bun.file(join(ROOT, page)).text();
      for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)) {
        if (!existsSync(join(ROOT, dirname(page), target))) dead.push(`${page} -> ${target}`);
      }
    }
    expect(read).toBeGreaterThan(5);
    expect(dead).toEqual([]);
  });

  it('names only files of the tree that are there', async () => {
    const dead: string[] = [];
    const guides = [...new Glob('docs/**/*.md').scanSync(ROOT)];
    const inSrc = new RegExp(
      `\`((?:${readdirSync(join(ROOT, 'src')).join('|')})/[\\w./-]*)\``,
      'g',
    );
    for (const page of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', ...guides]) {
      const text = await Bun.file(join(ROOT, page)).text();
      for (const [, path = ''] of text.matchAll(
        /`((?:src|test|testing|bench|scripts|docs)\/[\w./-]+)`/g,
      )) {
        if (!existsSync(join(ROOT, path))) dead.push(`${page}: ${path}`);
      }
      if (page !== 'ARCHITECTURE.md') continue;
      for (const [, path = ''] of text.matchAll(inSrc)) {
        if (!existsSync(join(ROOT, 'src', path))) dead.push(`${page}: src/${path}`);
      }
    }
    expect(dead).toEqual([]);
  });
});
