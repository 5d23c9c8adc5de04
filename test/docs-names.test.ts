import { describe, expect, it } from 'bun:test';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import packageJson from '../package.json';
import { commands } from '../src/cli/commands.ts';

const ROOT = join(import.meta.dir, '..');

const textOf = (path: string) => Bun.file(join(ROOT, path)).text();

/** All pages for users and for people who change the code, without the changelog, which also names what is gone. */
const PAGES = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...new Glob('docs/**/*.md').scanSync(ROOT),
  ...new Glob('examples/*/README.md').scanSync(ROOT),
  'packaging/helm/fanfare/README.md',
];

/** Names that look like settings of the server: values of the chart, an option of Bun, the name of a host. */
const OTHERS = /Secret$|^tls\.serverName$|^push\.example\.com$/;

/** Variables of the examples, and those that Kubernetes sets. */
const OTHER_VARIABLES = ['FANFARE_SERVICE_HOST', 'FANFARE_PORT'];

/** Finds a pattern on all pages, and returns the places where it names something that does not exist. */
async function unknown(pattern: RegExp, isKnown: (name: string, page: string) => boolean) {
  const wrong: string[] = [];
  let found = 0;
  for (const page of PAGES) {
    for (const [whole, name = whole] of (await textOf(page)).matchAll(pattern)) {
      found++;
      if (!isKnown(name, page)) wrong.push(`${page}: ${name}`);
    }
  }
  expect(found).toBeGreaterThan(10);
  return wrong;
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

describe('the pages', () => {
  it('name only settings, variables and metrics that the server has', async () => {
    const settings = await textOf('docs/reference/settings.md');
    const metrics = await textOf('docs/reference/metrics.md');
    const setting =
      /`((?:channels|push|admin|store|engine|tls|webhooks|log|realtime|dashboard)\.[a-zA-Z.[\]]+)(?<!\.[a-z]{2,4})`/g;
    const ofChart = 'packaging/helm/fanfare/README.md';
    expect(
      await unknown(
        setting,
        (name, page) => settings.includes(name) || OTHERS.test(name) || page === ofChart,
      ),
    ).toEqual([]);
    expect(
      await unknown(
        /\bFANFARE_[A-Z_]+\b/g,
        (name) => settings.includes(name) || OTHER_VARIABLES.includes(name),
      ),
    ).toEqual([]);
    expect(await unknown(/\bfanfare_[a-z_]+\b/g, (name) => metrics.includes(name))).toEqual([]);
  });

  it('name only scripts of the package, and commands of the server with options that they have', async () => {
    const scripts = Object.keys(packageJson.scripts);
    const inExample = (page: string) => page.startsWith('examples/');
    expect(
      await unknown(
        /npm run ([a-z:-]+)/g,
        (name, page) => scripts.includes(name) || inExample(page),
      ),
    ).toEqual([]);
    const command = /(?:npx |runuser -u fanfare -- |`)fanfare ([a-z][^`|)#>\n]*)/g;
    const longestFirst = commands.toSorted((a, b) => b.name.length - a.name.length);
    const isCommand = (called: string) => {
      const words = called.trim();
      // A group of commands, such as `fanfare apps`.
      if (commands.some(({ name }) => name.startsWith(`${words} `))) return true;
      const one = longestFirst.find(({ name }) => `${words} `.startsWith(`${name} `));
      const options = [...words.matchAll(/\s--([a-z-]+)/g)].map(([, option]) => option);
      return options.every((option) => one?.options.some(({ name }) => name === option)) && !!one;
    };
    expect(await unknown(command, isCommand)).toEqual([]);
  });

  it('link only to headings that are there', async () => {
    const texts = new Map<string, string>();
    const isThere = (target: string, page: string) => {
      const [file = '', anchor = ''] = target.split('#');
      const path = file === '' ? page : join(dirname(page), file);
      if (!existsSync(join(ROOT, path))) return false;
      if (anchor === '' || statSync(join(ROOT, path)).isDirectory()) return true;
      const headings = (texts.get(path) ?? '').matchAll(/^#+ (.*)$/gm);
      return [...headings].some(([, heading = '']) => anchorOf(heading) === anchor);
    };
    for (const page of PAGES) texts.set(page, await textOf(page));
    expect(await unknown(/\]\((?!https?:)([^)]+)\)/g, isThere)).toEqual([]);
  });
});
