import { describe, expect, it } from 'bun:test';
import { dirname, join, normalize, relative } from 'node:path';
import { Glob, Transpiler } from 'bun';

/**
 * Who may import whom. This is the table of ARCHITECTURE.md; folders of one row's level never import each
 * other, and what stands in no row may not be there.
 */
const ROOT = join(import.meta.dir, '..');

const mayImport: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  doctor: ['runtime'],
  config: ['runtime'],
  channels: ['runtime'],
  push: ['runtime'],
  observability: ['runtime'],
  outgoing: ['runtime'],
  engines: ['channels', 'runtime'],
  gateways: ['push', 'outgoing', 'runtime'],
  webhooks: ['channels', 'push', 'outgoing', 'observability', 'runtime'],
  stores: ['channels', 'push', 'webhooks/outbox.ts', 'runtime'],
  transports: ['channels', 'push', 'runtime'],
  tenants: ['channels', 'push', 'config', 'stores', 'runtime'],
  admin: ['tenants', 'webhooks', 'stores', 'config', 'channels', 'push', 'runtime'],
  'fake-gateways': ['gateways', 'outgoing', 'push', 'runtime'],
  // The only folder that puts parts together.
  node: [
    'admin',
    'channels',
    'config',
    'engines',
    'gateways',
    'observability',
    'outgoing',
    'push',
    'runtime',
    'stores',
    'tenants',
    'transports',
    'webhooks',
  ],
  cli: [
    'admin',
    'config',
    'doctor',
    'fake-gateways',
    'node',
    'push/explain',
    'push/device.ts',
    'runtime',
    'stores',
    'tenants',
    'webhooks/outbox.ts',
  ],
  // src itself holds main.ts alone.
  '.': ['cli'],
};

/** What the runtime offers to the pure folders: only what computes. */
const PURE = ['channels', 'push', 'runtime'];
/** The clock and the timers that are handed to what is pure. */
const CLOCKS = ['runtime/system-timers.ts', 'runtime/with-timeout.ts'];
const PURE_IMPORTS = ['node:crypto', 'bun'];
const IMPURE_NAMES = [
  /\bDate\.now\b/,
  /\bnew Date\(\)/,
  /\bperformance\.now\b/,
  /\bset(Timeout|Interval|Immediate)\b/,
  /\bfetch\(/,
  /\bBun\./,
  /\bprocess\./,
  /\bconsole\./,
];

/** What runs as a command of its own. */
const COMMANDS = ['cli', 'doctor', 'fake-gateways'];

/** Asynchronous use of files, and names that are looked up by the system. */
const POOL_USES = [
  /from 'node:fs\/promises'/,
  /import \{[^}]*\b(?:access|appendFile|mkdir|open|read|readFile|readdir|rename|rm|stat|unlink|write|writeFile|createReadStream|createWriteStream)\b[^}]*\} from 'node:fs'/,
  /\bBun\.(?:file|write)\(/,
  /from 'node:dns'/,
  /\blookup\b[^}]*\} from 'node:dns\/promises'/,
  /\bdns\.lookup\(/,
];

interface SourceFile {
  readonly path: string;
  readonly folder: string;
  /** Without its comments. */
  readonly text: string;
  readonly source: string;
  readonly imports: readonly string[];
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s+['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)|(?:^|\n)\s*import\s+['"]([^'"]+)['"]/g;

/** Without comments, so that a word in one is no use of it. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"])\/\/[^\n]*/g, '$1');
}

async function readSources(): Promise<readonly SourceFile[]> {
  const files: SourceFile[] = [];
  for await (const path of new Glob('src/**/*.ts').scan(ROOT)) {
    const source = await Bun.file(join(ROOT, path)).text();
    const text = withoutComments(source);
    const inSrc = relative('src', path);
    const [first = '', ...rest] = inSrc.split('/');
    // Type imports count too, so they are read from the text: a transpiler would drop them.
    const imports = [...text.matchAll(IMPORT)].map(([, a, b, c]) => a ?? b ?? c ?? '');
    files.push({ path: inSrc, folder: rest.length === 0 ? '.' : first, text, source, imports });
  }
  return files;
}

const sources = await readSources();
const product = sources.filter(({ path }) => !/\.(test|fixture)\.ts$/.test(path));

/** The files of src that a file imports. */
function localImports(file: SourceFile): readonly string[] {
  return file.imports
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(file.path), name)));
}

function isPure({ path, folder }: SourceFile): boolean {
  return PURE.includes(folder) && !CLOCKS.includes(path);
}

function folderOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? '') : '.';
}

describe('the import table', () => {
  it('was checked against files that exist', () => {
    expect(product.length).toBeGreaterThan(50);
    expect(product.flatMap(localImports).length).toBeGreaterThan(100);
    // What the text search finds, the real parser finds as well.
    const parsed = new Transpiler({ loader: 'ts' });
    for (const file of product) {
      for (const { path } of parsed.scanImports(file.source)) expect(file.imports).toContain(path);
    }
  });

  it('has a row for every folder', () => {
    expect(Object.keys(mayImport)).toEqual(
      expect.arrayContaining([...new Set(product.map(({ folder }) => folder))]),
    );
  });

  it('is kept by every file', () => {
    const broken: string[] = [];
    for (const file of product) {
      for (const target of localImports(file)) {
        const allowed =
          target === '../package.json'
            ? file.folder === 'cli'
            : folderOf(target) === file.folder ||
              mayImport[file.folder]?.some(
                (place) => target === place || target.startsWith(`${place}/`),
              );
        if (!allowed) broken.push(`${file.path} imports ${target}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('has no circle, type imports included', () => {
    const imports = new Map(product.map((file) => [file.path, localImports(file)]));
    const done = new Set<string>();
    const circles: string[] = [];
    const walk = (path: string, way: readonly string[]) => {
      if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' -> '));
      if (done.has(path) || way.includes(path)) return;
      for (const next of imports.get(path) ?? []) walk(next, [...way, path]);
      done.add(path);
    };
    for (const path of imports.keys()) walk(path, []);
    expect(circles).toEqual([]);
  });

  it('has no barrel: no file passes on what another exports', () => {
    const barrels = product.filter(({ text }) => /(?:^|\n)export (?:\*|\{[^}]*\}) from/.test(text));
    expect(barrels.map(({ path }) => path)).toEqual([]);
  });
});

describe('the pure folders', () => {
  it('do no I/O and read no clock', () => {
    const impure: string[] = [];
    for (const file of product.filter(isPure)) {
      for (const name of file.imports) {
        if (!name.startsWith('.') && !PURE_IMPORTS.includes(name)) {
          impure.push(`${file.path} imports ${name}`);
        }
      }
      for (const name of IMPURE_NAMES) {
        if (name.test(file.text)) impure.push(`${file.path} uses ${name.source}`);
      }
    }
    expect(impure).toEqual([]);
  });

  it('take nothing of Bun but its hashes', () => {
    const taken = product
      .filter(isPure)
      .flatMap(({ text }) =>
        [...text.matchAll(/import ([^;]*?) from 'bun'/g)].map(([, what]) => what),
      );
    for (const what of taken) expect(what).toMatch(/^\{ (CryptoHasher|MD5)(, MD5)? \}$/);
  });
});

describe("the runtime's thread pool", () => {
  it('is used by nothing that serves, since one that hangs there holds up everything else', () => {
    const used: string[] = [];
    for (const { path, folder, text } of product) {
      if (COMMANDS.includes(folder)) continue;
      for (const use of POOL_USES) if (use.test(text)) used.push(`${path}: ${use.source}`);
    }
    expect(used).toEqual([]);
  });
});

describe('the wire', () => {
  it('is known to channels/wire.ts alone, and to the doctor, which is a client', () => {
    const knows = product.filter(({ text }) =>
      /pusher(_internal)?:(subscri|member|cache|ping|pong|connection)/.test(text),
    );
    expect(knows.map(({ path }) => path).sort()).toEqual([
      'channels/wire.ts',
      'doctor/client/client-messages.ts',
    ]);
  });
});
