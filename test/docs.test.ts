import { describe, expect, it } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import packageJson from '../package.json';
import { pages } from '../scripts/pages.ts';
import { printSdkResults, readSdkResults } from '../scripts/tested-with-page.ts';
import { ruleNames } from '../src/verify/check/verdict.ts';
import type { FaultKind } from '../src/verify/history/line.ts';
import { readEvidence } from '../testing/evidence/rows.ts';

const ROOT = join(import.meta.dir, '..');

describe('the documentation', () => {
  it.each(Object.keys(pages))(
    'docs/%s is what the code prints now (npm run docs)',
    async (name) => {
      const text = await Bun.file(join(ROOT, 'docs', name)).text();
      expect(text === pages[name]?.()).toBe(true);
    },
  );

  it('tells results of the libraries that are pinned now, and each check that failed', async () => {
    const results = readSdkResults();
    expect(results.length).toBeGreaterThan(2);
    for (const { folder, libraries } of results) {
      const pins = [...new Glob('{pom.xml,go.mod,requirements.txt,package.json}').scanSync(folder)];
      const text = await Bun.file(join(folder, pins[0] ?? '')).text();
      for (const { name, version } of libraries) expect(text).toMatch(pinOf(name, version));
    }

    const old = { name: 'pusher', version: '1.2', held: ['trigger', 'users'], failed: [] };
    const libraries = [
      old,
      { ...old, version: '2.0' },
      { ...old, version: '3.1', held: ['trigger'], failed: ['users'] },
    ];
    const of = { folder: '', date: '2026-11-28', language: 'Cobol 85' };
    expect(printSdkResults([{ ...of, libraries }])).toEndWith(
      '| Cobol 85 | `pusher` 1.2, 2.0 | 2 of 2 each | trigger; users | 2026-11-28 |\n' +
        '| Cobol 85 | `pusher` 3.1 | 1 of 2 | trigger; **failed: users** | 2026-11-28 |\n',
    );
  });

  it('names in guarantees exactly the promises that `fanfare verify` checks', async () => {
    const text = await Bun.file(join(ROOT, 'docs/use/guarantees.md')).text();
    const promises = /## The promises\n([^#]*)/.exec(text)?.[1] ?? '';
    const names = Array.from(promises.matchAll(/^\| `(\w+)` \|/gm), ([, name]) => name);
    expect(names).toEqual([...ruleNames]);
  });

  it('says in guarantees what each fault costs that a recording can have', async () => {
    const text = await Bun.file(join(ROOT, 'docs/use/guarantees.md')).text();
    const table = /## What a fault costs\n([^#]*)/.exec(text)?.[1] ?? '';
    const rows = Array.from(table.matchAll(/^\| ([^|]+) \|/gm), ([, fault]) => fault ?? '');
    const words: Readonly<Record<Exclude<FaultKind, 'gateway'>, RegExp>> = {
      kill: /server is killed/,
      stop: /server is stopped/,
      pause: /is paused/,
      'cut-off': /cannot reach Redis/,
      'redis-away': /^Redis is silent/,
      'redis-lost': /^Redis restarts, or a replica/,
      'store-away': /^PostgreSQL or the disk is away/,
      power: /loses its power/,
      clock: /^a clock is set/,
    };
    // These are noted in no recording: they are what the clients themselves do, or hold for all faults.
    const others = [/link of a client/, /reads too slowly/, /thread dies/, /two releases/];
    for (const fault of [...Object.values(words), ...others]) {
      expect(rows).toContainEqual(expect.stringMatching(fault));
    }
  });

  it('knows of every run in evidence what repeats it, and on which commit of this branch it ran', () => {
    const rows = readEvidence();
    const git = (...args: string[]) => Bun.spawnSync(['git', ...args], { cwd: ROOT });
    const isShallow = git('rev-parse', '--is-shallow-repository').stdout.toString().trim();
    for (const { name, command, commit, version, date, machine, figures, result, why } of rows) {
      expect(command).toMatch(/^npm run |^(bin\/)?fanfare /);
      expect(commit).toMatch(/^[0-9a-f]{40}$/);
      expect(version).toMatch(/^\d+\.\d+\.\d+$/);
      expect(date).toMatch(/^\d{4}-\d\d-\d\d$/);
      expect(machine.cores * machine.memoryGiB).toBeGreaterThan(0);
      if (result === 'not run') expect(why).toBeString();
      else expect(Object.keys(figures)).not.toEqual([]);
      // Only a whole clone knows: `false`.
      if (isShallow === 'false') {
        const { exitCode } = git('merge-base', '--is-ancestor', commit, 'HEAD');
        expect({ name, exitCode }).toEqual({ name, exitCode: 0 });
      }
    }
    const page = pages['use/evidence.md']?.() ?? '';
    expect(page.split('\n').length).toBeLessThanOrEqual(151);
  });

  it('has a line for every runtime dependency', async () => {
    const text = await Bun.file(join(ROOT, 'docs/internals/dependencies.md')).text();
    for (const name of Object.keys(packageJson.dependencies)) expect(text).toContain(`\`${name}\``);
  });

  it('links only to files that are there', async () => {
    const dead: string[] = [];
    let read = 0;
    for (const page of [
      ...new Glob('*.md').scanSync(ROOT),
      ...new Glob('docs/**/*.md').scanSync(ROOT),
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

  it('has every page in its list, and at most twenty of them side by side', async () => {
    const all = [...new Glob('*/*.{md,json}').scanSync(join(ROOT, 'docs'))];
    const listed = await Bun.file(join(ROOT, 'docs/README.md')).text();
    const documents = all.filter((page) => !page.startsWith('monitoring/'));
    expect(documents.filter((page) => !listed.includes(`](${page})`))).toEqual([]);
    for (const pagesOfFolder of Map.groupBy(all, dirname).values()) {
      expect(pagesOfFolder.length).toBeLessThanOrEqual(20);
    }
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

it('pages, examples and printed snippets name one cluster', async () => {
  const clusters: string[] = [];
  const files = [
    'README.md',
    'docs/**/*.md',
    'examples/**/*',
    'sdk/**/*',
    'src/cli/**/*',
    'src/dashboard/**/*',
  ].flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: ROOT, dot: true })]);
  for (const file of files) {
    if (file.includes('node_modules')) continue;
    const text = await Bun.file(join(ROOT, file)).text();
    for (const [, inScript, inLaravel] of text.matchAll(
      /\bcluster: '(.*?)'|^PUSHER_APP_CLUSTER=(.*)$/gm,
    )) {
      clusters.push(`${file}: ${inScript ?? inLaravel}`);
    }
  }
  expect(clusters.length).toBeGreaterThan(10);
  expect(clusters.filter((line) => !line.endsWith(': local'))).toEqual([]);
});

/** Where a file of Maven, Go, pip or npm pins this version of a library. */
function pinOf(name: string, version: string): RegExp {
  const between = '(?:</artifactId>\\s*<version>|/v\\d+ v|==|@)';
  return new RegExp(`\\b${RegExp.escape(name)}${between}${RegExp.escape(version)}\\b`);
}

describe('the version', () => {
  const { version } = packageJson;
  const textOf = (path: string) => Bun.file(join(ROOT, path)).text();
  /** The client is a package of its own. */
  const SDK_MANIFEST = 'sdk/fanfare-js/package.json';

  it('is that of package.json wherever a file must repeat it', async () => {
    const lock = JSON.parse(await textOf('package-lock.json'));
    const sdk = JSON.parse(await textOf(SDK_MANIFEST));
    const repeated = [lock.version, lock.packages[''].version, sdk.version];
    expect(repeated).toEqual([version, version, version]);
  });

  it('is VERSION in the names of files that pages say to install: each build has one of its own', async () => {
    const wrong: string[] = [];
    let found = 0;
    for (const page of ['README.md', ...new Glob('docs/**/*.md').scanSync(ROOT)]) {
      const text = await textOf(page);
      for (const [name] of text.matchAll(/\bfanfare[-_](?:chart-)?\d+\.\d+\.\d+/g)) {
        wrong.push(`${page}: ${name}`);
      }
      found += [...text.matchAll(/\bfanfare[-_](?:chart-)?VERSION[-_.]/g)].length;
    }
    expect(found).toBeGreaterThan(3);
    expect(wrong).toEqual([]);
  });

  it('is written nowhere else in what is shipped', async () => {
    const repeated = new RegExp(`(?<![\\d.v])${RegExp.escape(version)}(?![\\d.])`);
    const files = new Glob('{src,packaging,scripts,sdk,bin}/**/*.{ts,tsx,js,sh,yaml,yml,tpl,json}');
    const wrong: string[] = [];
    for (const file of files.scanSync(ROOT)) {
      if (file.includes('.test.') || file === SDK_MANIFEST) continue;
      if (file.includes('node_modules') || !repeated.test(await textOf(file))) continue;
      wrong.push(file);
    }
    expect(wrong).toEqual([]);
  });
});
