import type { Request } from './arguments.ts';

/** One call of `bun test`. */
export interface Run {
  /** What is printed before it. */
  readonly title?: string;
  /** What its servers and clients are; see `CONTRIBUTING.md`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly paths: readonly string[];
}

/** All that a request needs, in this order. */
export interface Plan {
  /** Of which paths `scripts/install-tools.sh` installs the programs: none means of all. `undefined`: nothing is needed. */
  readonly tools: readonly string[] | undefined;
  /** Unit tests, whose files share processes: they start no program and touch no global state. */
  readonly unit: readonly Run[];
  /** Tests with servers, which run from what is built for them. */
  readonly servers: readonly Run[];
  /** Nothing is built for them, because these start no server in a process of its own. */
  readonly needNoBuild?: true;
  /** The words after `test/faults/run.ts`, which runs from that as well; `undefined`: it does not run. */
  readonly faults?: readonly string[];
}

/** The folders of unit tests. */
export const UNIT = ['src', 'sdk', 'bench', 'testing', 'scripts'] as const;

/** The folders of `test/` that only run when they are asked for, and how to. */
export const ON_REQUEST: Readonly<Record<string, string>> = {
  acme: 'npm run test:acme',
  cluster: 'npm run test:matrix',
  packages: 'npm run test:packages',
  proxies: 'npm run test:proxies',
  sdks: 'npm run test:sdks',
};

const CLUSTER = 'test/cluster';

/** Folders of tests that start no server in a process of its own. */
const WITHOUT_SERVERS = ['test/simulation', 'test/contracts'];

/** Most of the time, scenes wait. */
const FAULTS = ['--small', '--at-once', '10'];

const CHANNELS = ['test/protocol/websocket', 'test/protocol/http', 'test/protocol/webhooks'];

/** What clients and backends see of a server. */
const ON_TWO_SERVERS = [
  ...CHANNELS,
  'test/protocol/http-transports',
  'test/compat',
  'test/browser',
  'test/admin',
];

/** All rules that do not depend on what a WebSocket alone has: its handshake, its frames, its own pings. */
export const OVER_HTTP: readonly string[] = [
  ...[
    'subscribing',
    'client-events',
    'presence',
    'users',
    'cache-channels',
    'subscription-counts',
    'authorisation',
    'channel-names',
    'encrypted-channels',
    'encoding',
  ].map((rules) => `test/protocol/websocket/${rules}.test.ts`),
  ...['channels', 'users', 'laravel-echo', 'restart'].map((name) => `test/browser/${name}.test.ts`),
];

/** What is to be done for a request. `overRedis`: servers are over Redis, by the environment of this run. */
export function planOf(request: Request, testFiles: readonly string[], overRedis: boolean): Plan {
  const { mode, paths } = request;
  if (mode === 'matrix') return matrix(paths, testFiles);
  if (mode === 'unit') {
    return {
      tools: undefined,
      unit: [{ paths: paths.length > 0 ? paths : UNIT.map(exact) }],
      servers: [],
    };
  }
  if (mode === 'all') {
    const servers = [{ paths: withoutRequest(testFiles) }];
    return { tools: [], unit: [{ paths: UNIT.map(exact) }], servers };
  }
  if (paths.every(isUnit)) return { tools: undefined, unit: [{ paths }], servers: [] };
  const tools = overRedis ? [...paths, CLUSTER] : paths;
  const isWithout = (path: string) => WITHOUT_SERVERS.some((folder) => isIn(path, folder));
  return {
    ...{ tools, unit: [], servers: [{ paths }] },
    ...(paths.every(isWithout) && { needNoBuild: true }),
  };
}

/** The tests of clusters; and what clients and backends see, on other servers and over other transports, which paths narrow down. */
function matrix(chosen: readonly string[], testFiles: readonly string[]): Plan {
  const or = (paths: readonly string[]) => (chosen.length > 0 ? chosen : paths);
  // Push has nothing to do with realtime threads.
  const onTwoThreads = testFiles.filter((file) =>
    /^test\/(?:compat|browser)\/(?:.*\/)?(?!push-)[^/]+$/.test(file),
  );
  const onTwoServers = or(ON_TWO_SERVERS);
  return {
    tools: [...onTwoServers, CLUSTER],
    unit: [],
    servers: [
      ...(chosen.length > 0 ? [] : [{ paths: [CLUSTER] }]),
      {
        title: 'Servers with two realtime threads:',
        env: { TEST_THREADS: '2' },
        paths: or([...CHANNELS, 'test/protocol/http-transports', ...onTwoThreads]),
      },
      ...['xhr_streaming', 'xhr_polling'].map((transport) => ({
        title: `Clients without WebSockets, over ${transport}:`,
        env: { TEST_TRANSPORT: transport },
        paths: or(OVER_HTTP),
      })),
      {
        title: 'Two servers over Redis that act as one, each connection to the next of them:',
        env: { TEST_SERVERS: '2' },
        paths: onTwoServers,
      },
    ],
    ...(chosen.length > 0 ? {} : { faults: FAULTS }),
  };
}

/** The files and folders of `test/` but for those that only run when they are asked for. */
function withoutRequest(testFiles: readonly string[]): readonly string[] {
  const names = testFiles
    .filter((file) => file.startsWith('test/'))
    .map((file) => file.split('/')[1] ?? '')
    .filter((name) => !(name in ON_REQUEST));
  return [...new Set(names)].map((name) => `./test/${name}`);
}

/** Makes `bun test` take a folder for itself: it would take `src` for a part of paths. */
function exact(folder: string): string {
  return `./${folder}`;
}

function isIn(path: string, folder: string): boolean {
  return `${path.replace(/^\.\//, '')}/`.startsWith(`${folder}/`);
}

function isUnit(path: string): boolean {
  return (UNIT as readonly string[]).includes(path.replace(/^\.\//, '').split('/')[0] ?? '');
}
