import { describe, expect, it } from 'bun:test';
import { dirname, join, normalize, relative } from 'node:path';
import { Glob, Transpiler } from 'bun';

/**
 * Who may import whom. This is the table of ARCHITECTURE.md; folders of one row's level never import each
 * other, and what is in no row must not exist.
 */
const ROOT = join(import.meta.dir, '..');

const mayImport: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  doctor: ['runtime'],
  verify: ['doctor/client', 'runtime'],
  // Runs in browsers, and talks to the admin API.
  dashboard: [],
  config: ['runtime'],
  channels: ['runtime'],
  push: ['runtime'],
  observability: ['runtime'],
  outgoing: ['runtime'],
  certificates: ['runtime'],
  engines: ['channels', 'runtime'],
  gateways: ['push', 'outgoing', 'runtime'],
  webhooks: ['channels', 'push', 'outgoing', 'observability', 'runtime'],
  stores: ['channels', 'push', 'webhooks/outbox.ts', 'certificates/kept.ts', 'runtime'],
  transports: ['channels', 'push', 'runtime'],
  asking: ['channels', 'push', 'webhooks', 'observability', 'runtime'],
  tenants: ['channels', 'push', 'config', 'stores', 'runtime'],
  watching: ['channels', 'push', 'runtime'],
  sources: ['channels', 'push', 'runtime'],
  admin: [
    'asking',
    'tenants',
    'watching',
    'webhooks',
    'stores',
    'config',
    'channels',
    'push',
    'runtime',
  ],
  'fake-gateways': ['certificates', 'gateways', 'outgoing', 'push', 'runtime'],
  // The only folder that puts parts together.
  node: [
    'admin',
    'asking',
    'certificates',
    'channels',
    'config',
    'engines',
    'gateways',
    'observability',
    'outgoing',
    'push',
    'runtime',
    'sources',
    'stores',
    'tenants',
    'transports',
    'watching',
    'webhooks',
  ],
  cli: [
    'admin',
    'asking/facts',
    'config',
    'doctor',
    'engines/redis/examine.ts',
    'fake-gateways',
    'node',
    'push/model/device.ts',
    'push/model/instance-id.ts',
    'runtime',
    'sources/schema.ts',
    'stores',
    'tenants',
    'verify',
    'webhooks/outbox.ts',
  ],
  // src itself holds the entries alone.
  '.': ['cli'],
};

/**
 * The same for the folders beside src. Tests and fixtures of src may import what `testing` may, and `testing`.
 * Nothing imports a test.
 */
const besideMayImport: Readonly<Record<string, readonly string[]>> = {
  testing: ['src'],
  // Runs in browsers; its tests use what `testing` holds.
  sdk: [],
  scripts: ['src', 'testing'],
  // It makes the package of the client.
  packaging: ['sdk/fanfare-js', 'src'],
  // The model of the cost of clusters is compared with what Redis counts.
  test: ['bench/cluster', 'packaging', 'scripts', 'sdk', 'src', 'testing'],
  // Recovery is measured in the scenes that judge promises.
  bench: ['src', 'testing', 'test/faults'],
  examples: ['testing', 'sdk'],
};

/** Files beside src, and the folders of src that may import them. The scripts are served to browsers, as text. */
const files: Readonly<Record<string, readonly string[]>> = {
  // Stores write down which version has changed them.
  '../package.json': ['cli', 'node', 'stores'],
  '../sdk/authorize/index.js': ['transports'],
  '../sdk/resume/index.js': ['transports'],
  '../sdk/resume/places.js': ['transports'],
};

/** Which folders of `transports` may import which others of it. */
const mayShare: Readonly<Record<string, readonly string[]>> = {
  websocket: ['clients'],
  'http-fallback': ['clients'],
  // A reader signs like a backend, and is a connection like a client.
  sse: ['channels-api', 'clients'],
};

/** What the runtime offers to the pure folders: only what computes. */
const PURE = ['channels', 'push', 'runtime'];
/** The clock and the timers that are handed to what is pure. */
const CLOCKS = ['runtime/system-timers.ts'];
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
const COMMANDS = ['cli', 'doctor', 'fake-gateways', 'verify'];

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

/** The files below a folder; their paths and folders are counted from there. */
async function readSources(below: string, pattern: string): Promise<readonly SourceFile[]> {
  const files: SourceFile[] = [];
  for await (const found of new Glob(pattern).scan(ROOT)) {
    const source = await Bun.file(join(ROOT, found)).text();
    const text = withoutComments(source);
    const path = relative(below, found);
    const [first = '', ...rest] = path.split('/');
    // Type imports count too, so they are read from the text: a transpiler would drop them.
    const imports = [...text.matchAll(IMPORT)].map(([, a, b, c]) => a ?? b ?? c ?? '');
    files.push({ path, folder: rest.length === 0 ? '.' : first, text, source, imports });
  }
  return files;
}

const isTest = (path: string) => /\.(test|fixture)\.tsx?$/.test(path);

const sources = await readSources('src', 'src/**/*.{ts,tsx}');
const product = sources.filter(({ path }) => !isTest(path));
const all = await readSources(
  '.',
  '{src,sdk,testing,test,bench,examples,scripts,packaging}/**/*.{ts,tsx}',
);

/** The files of this repository that a file imports. */
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

/** Programs of their own, which see the server from outside, and may call what it shows by the same names. */
const FROM_OUTSIDE = ['dashboard', 'verify'];

it('one name of a type or class has one meaning in the server', () => {
  const places = new Map<string, string[]>();
  for (const { path, folder, text } of product) {
    if (FROM_OUTSIDE.includes(folder)) continue;
    for (const [, name = ''] of text.matchAll(
      /^export (?:abstract )?(?:interface|type|class) (\w+)/gm,
    )) {
      places.set(name, [...(places.get(name) ?? []), path]);
    }
  }
  expect(places.size).toBeGreaterThan(1000);
  expect([...places].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

describe('the import table', () => {
  it('was checked against files that exist', () => {
    expect(product.length).toBeGreaterThan(50);
    for (const folder of Object.keys(besideMayImport)) {
      expect(all.filter((file) => file.folder === folder).length).toBeGreaterThan(1);
    }
    expect(product.flatMap(localImports).length).toBeGreaterThan(100);
    // What the text search finds, the real parser finds as well.
    const parsed = new Transpiler({ loader: 'ts' });
    for (const file of all.filter(({ path }) => path.endsWith('.ts'))) {
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
          target in files
            ? files[target]?.includes(file.folder)
            : folderOf(target) === file.folder ||
              mayImport[file.folder]?.some(
                (place) => target === place || target.startsWith(`${place}/`),
              );
        if (!allowed) broken.push(`${file.path} imports ${target}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('is kept by everything beside src, and by the tests in src', () => {
    const broken: string[] = [];
    for (const file of all) {
      const isTests = ['src', 'sdk'].includes(file.folder) && isTest(file.path);
      if (file.folder === 'src' && !isTests) continue;
      const allowed = besideMayImport[isTests ? 'test' : file.folder] ?? [];
      for (const target of localImports(file)) {
        const folder = folderOf(target);
        const isAllowed =
          target === 'package.json' ||
          folder === file.folder ||
          allowed.includes(folder) ||
          allowed.some((place) => target.startsWith(`${place}/`));
        if (!isAllowed || target.endsWith('.test.ts')) {
          broken.push(`${file.path} imports ${target}`);
        }
      }
    }
    expect(broken).toEqual([]);
  });

  it('lets `testing` import no fixture of src, since fixtures import `testing`', () => {
    const broken = all
      .filter(({ folder }) => folder === 'testing')
      .filter((file) => localImports(file).some((target) => isTest(target)));
    expect(broken.map(({ path }) => path)).toEqual([]);
  });

  it('lets no transport import another, and what all client connections share import none', () => {
    const broken: string[] = [];
    for (const file of product) {
      const [, from, own] = file.path.split('/');
      if (file.folder !== 'transports' || own === undefined || from === undefined) continue;
      for (const target of localImports(file)) {
        const [folder, to, of] = target.split('/');
        if (folder !== 'transports' || of === undefined || to === undefined || to === from)
          continue;
        if (!mayShare[from]?.includes(to)) broken.push(`${file.path} imports ${target}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('has no circle, type imports included', () => {
    const imports = new Map(all.map((file) => [file.path, localImports(file)]));
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

  it('use nothing of Bun but its hashes', () => {
    const taken = product
      .filter(isPure)
      .flatMap(({ text }) =>
        [...text.matchAll(/import ([^;]*?) from 'bun'/g)].map(([, what]) => what),
      );
    for (const what of taken) expect(what).toMatch(/^\{ (CryptoHasher|MD5|hash)(, MD5)? \}$/);
  });
});

describe('chance', () => {
  const CHANCE =
    /\bMath\.random\b|\bgetRandomValues\b|\brandom(?:UUID|UUIDv7|Bytes|Int|FillSync|Fill)\b/;

  it('is handed to the pure folders, which take it themselves only for what no two servers may both have', () => {
    const takers = product
      .filter((file) => isPure(file) && CHANCE.test(file.text))
      .map(({ path }) => path);
    expect(takers.toSorted()).toEqual([
      // Ids, and the seed of a hash (socket-marks) which no client may guess. No test needs certain ones.
      'channels/history/event-id.ts',
      'channels/socket-id.ts',
      'push/model/device-id.ts',
      'push/model/publish-id.ts',
      'runtime/shared-memory/socket-marks.ts',
      'runtime/sortable-ids.ts',
    ]);
  });
});

describe('the text of an error', () => {
  // By hand: the message or the stack if it is an error, or else its text.
  const BY_HAND =
    /\binstanceof Error\s*\?[^;?]{0,80}\.(?:message|stack)\b[^;]{0,40}\bString\(|\bString\(error\)|\.stack \?\?/;

  it('is taken by messageOf and stackOf alone', () => {
    const takers = product
      .filter(({ folder, text }) => folder !== 'dashboard' && BY_HAND.test(text))
      .map(({ path }) => path);
    // The dashboard imports nothing of the server.
    expect(takers).toEqual(['runtime/error-code.ts']);
  });
});

describe('a timer', () => {
  // Not `setImmediate`, which only lets others have their turn, and not the `setTimeout` of a socket.
  const SETS = /(?<!\bsocket\.)\bset(?:Timeout|Interval)\b|\bBun\.sleep\(/;

  it('is set by one file, so that time is handed in and a test can move it', () => {
    const setters = product
      .filter(({ folder, text }) => folder !== 'dashboard' && SETS.test(text))
      .map(({ path }) => path);
    // Entries import the command line alone. The dashboard runs in browsers.
    expect(setters.toSorted()).toEqual(['main.ts', ...CLOCKS]);
  });
});

describe('the dashboard', () => {
  const files = sources.filter(({ folder }) => folder === 'dashboard');

  it('uses nothing that browsers do not have', () => {
    expect(files.length).toBeGreaterThan(3);
    const broken: string[] = [];
    for (const { path, text, imports } of files.filter((file) => !isTest(file.path))) {
      for (const name of imports) if (/^(node:|bun$)/.test(name)) broken.push(`${path}: ${name}`);
      // It writes a script for Node.js.
      if (path === 'dashboard/live/recorded-steps.ts') continue;
      if (/\b(?:Bun|process)\./.test(text)) broken.push(path);
    }
    expect(broken).toEqual([]);
  });

  it('makes no HTML or code from text, which its content security policy forbids', () => {
    const made =
      /dangerouslySetInnerHTML|\b(?:inner|outer)HTML\b|\beval\(|new Function\(|style=["'`]/;
    expect(files.filter(({ text }) => made.test(text)).map(({ path }) => path)).toEqual([]);
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

describe('a thread', () => {
  it('awaits nothing while its modules load, or it loses what is posted before it listens', () => {
    const awaits = /^(?:(?:export )?(?:const|let) [^=]+ = |[\w.[\]']+ = |for |void )?\(*await\b/m;
    const found = product
      .filter(({ folder, text }) => folder !== 'dashboard' && awaits.test(text))
      .map(({ path }) => path);
    // They run on the main thread, which is posted nothing.
    expect(found.toSorted()).toEqual(['main.ts', 'standalone.ts']);
  });
});

describe('a metric', () => {
  it('is counted through properties: of methods, the compiler accepts labels that are not printed', () => {
    const methods = product.filter(({ text }) => /^\s+count\??\(\s*\w+:\s*['"|]/m.test(text));
    expect(methods.map(({ path }) => path)).toEqual([]);
  });
});

describe('a server', () => {
  it('loads nothing of what only other commands need: they import it when they run', () => {
    const loaded = loadedBy('main.ts', 'cli/serving/serve.ts');
    expect(loaded.has('node/server.ts')).toBe(true);
    const unneeded = /^(?:verify|doctor|fake-gateways|admin|cli\/(?!health|serving)\w+)\//;
    expect([...loaded.keys()].filter((path) => unneeded.test(path))).toEqual([]);
    const ofCommands = loadedBy('main.ts', 'cli/run.ts');
    expect(ofCommands.has('cli/commands.ts')).toBe(true);
    const ofOne = /^(?:verify|doctor\/(?:client|checks|explain))\//;
    expect([...ofCommands.keys()].filter((path) => ofOne.test(path))).toEqual([]);
  });

  it('makes its schemas once, to read the configuration: its threads make theirs when they need one', () => {
    for (const thread of ['node/background/worker.ts', 'node/realtime/worker.ts']) {
      const loaded = loadedBy(thread);
      expect(loaded.size).toBeGreaterThan(100);
      const makers = [...loaded].filter(([, imports]) => imports.includes('zod'));
      expect(makers.map(([path]) => path)).toEqual([]);
    }
  });
});

/** The files that are loaded together with some, and what each of them imports. */
function loadedBy(...entries: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const transpiler = new Transpiler({ loader: 'ts' });
  const byPath = new Map(product.map((file) => [file.path, file]));
  const loaded = new Map<string, readonly string[]>();
  const load = (path: string) => {
    const file = byPath.get(path);
    if (file === undefined || loaded.has(path)) return;
    const imports = transpiler
      .scanImports(file.source)
      .filter(({ kind }) => kind === 'import-statement');
    const names = imports.map(({ path: name }) => name);
    loaded.set(path, names);
    for (const name of names) load(normalize(join(dirname(path), name)));
  };
  for (const entry of entries) load(entry);
  return loaded;
}

describe('an outgoing request', () => {
  it('is sent where the proxy is chosen, since `fetch` by itself uses that of the environment', () => {
    const callers = product
      .filter(
        ({ folder, text }) => folder !== 'dashboard' && /(?:await|return|=>)\s+fetch\(/.test(text),
      )
      .map(({ path }) => path);
    // The command line sends to servers.
    expect(callers.toSorted()).toEqual([
      'cli/server-request.ts',
      'outgoing/proxy/proxied-fetch.ts',
    ]);
  });
});

describe('the path of a clone', () => {
  it('may have spaces, quotes and letters of any language', async () => {
    const broken: string[] = [];
    const scripts = await readSources(
      '.',
      '{src,sdk,testing,test,bench,examples,scripts,packaging}/**/*.{js,mjs}',
    );
    for (const { path, text } of [...all, ...scripts]) {
      // The path of a URL has them encoded. `import.meta.dir` and `fileURLToPath` have not.
      if (/import\.meta\.url\s*,?\s*\)\s*\.pathname/.test(text)) broken.push(`${path}: pathname`);
      // A shell, or JavaScript that is made here, would read what is put into its text. Give it arguments, or use JSON.
      // That test is about such text.
      if (path === 'src/dashboard/api/command.test.ts') continue;
      if (/'(?:-c|-e|--eval)',\s*`[^`]*\$\{/.test(text)) broken.push(`${path}: text of a shell`);
      if (/(?:from|import) '\$\{/.test(text)) broken.push(`${path}: import in quotes`);
    }
    expect(broken).toEqual([]);
  });
});

describe('the wire', () => {
  it('is known to channels/wire.ts alone, and to the doctor and the dashboard, which are clients', () => {
    const knows = product.filter(({ text }) =>
      /pusher(_internal)?:(subscri|member|cache|ping|pong|connection)/.test(text),
    );
    expect(knows.map(({ path }) => path).sort()).toEqual([
      'channels/wire.ts',
      'dashboard/client/tab-client.ts',
      'doctor/client/client-messages.ts',
    ]);
  });
});

describe('the audience', () => {
  it('is sent to by broadcast alone, so that one place can reach other nodes as well', () => {
    // Anything of an audience but joining and leaving, or its `send` taken apart from it.
    const use = /\baudience\b\??(?:\.|\[['"])(?!(?:join|leave|leaveAll|ts)\b)\w+/i;
    const apart = /\{[^{}]*\bsend\b[^{}]*\} = [\w.]*audience\b/i;
    const senders = product
      .filter(({ folder }) => ['channels', 'transports', 'engines'].includes(folder))
      .filter(({ text }) => use.test(text) || apart.test(text));
    expect(senders.map(({ path }) => path)).toEqual(['channels/broadcast.ts']);
  });
});
