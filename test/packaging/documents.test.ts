import { afterAll, expect, it } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import { copyDocuments } from '../../packaging/documents.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const folder = temporaryDirectory();
copyDocuments(folder.path);
afterAll(() => folder[Symbol.dispose]());

/** Of the repository only. */
const OUTSIDE =
  /^(?:\.\.\/)*(?:examples|sdk|packaging|bench|src|ARCHITECTURE\.md|CONTRIBUTING\.md)/;

it('brings the pages, the alerts and the dashboard, whose links lead to what is there', () => {
  const pages = [...new Glob('**/*.md').scanSync(folder.path)];
  expect(pages).toContain('docs/operate/operate.md');
  const dead = pages.flatMap((page) => {
    const text = readFileSync(join(folder.path, page), 'utf8');
    return [...text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !OUTSIDE.test(target))
      .filter((target) => !existsSync(join(folder.path, dirname(page), target)))
      .map((target) => `${page} -> ${target}`);
  });
  expect(dead).toEqual([]);
  for (const file of ['alerts.yml', 'grafana.json']) {
    expect(existsSync(join(folder.path, 'docs/monitoring', file))).toBe(true);
  }
});

it('has alerts that name no file which is not beside them', () => {
  const alerts = readFileSync(join(folder.path, 'docs/monitoring/alerts.yml'), 'utf8');
  for (const [name] of alerts.matchAll(/\b[\w.]+\.ya?ml\b/g)) {
    expect([name, existsSync(join(folder.path, 'docs/monitoring', name))]).toEqual([name, true]);
  }
});
