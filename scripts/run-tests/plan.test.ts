import { expect, it } from 'bun:test';
import { join } from 'node:path';
import type { Request } from './arguments.ts';
import { ON_REQUEST, OVER_HTTP, planOf } from './plan.ts';
import { testFilesOf } from './test-files.ts';

const testFiles = [
  'src/a.test.ts',
  'test/acme/renew.test.ts',
  'test/browser/channels.test.ts',
  'test/browser/dashboard/pages.test.ts',
  'test/browser/push-firefox.test.ts',
  'test/cli/serve.test.ts',
  'test/cli/stop.test.ts',
  'test/cluster/redis.test.ts',
  'test/compat/push/push-sdk.test.ts',
  'test/compat/users.test.ts',
  'test/docs.test.ts',
];

const plan = (mode: Request['mode'], paths: string[] = [], overRedis = false) =>
  planOf({ mode, paths, options: [] }, testFiles, overRedis);

const UNIT = ['./src', './sdk', './bench', './testing', './scripts'];

it('runs everything but the folders that need a request, unit tests first', () => {
  expect(plan('all')).toEqual({
    tools: [],
    unit: [{ paths: UNIT }],
    servers: [{ paths: ['./test/browser', './test/cli', './test/compat', './test/docs.test.ts'] }],
  });
});

it('needs no programs and no build for unit tests', () => {
  expect(plan('unit')).toEqual({ tools: undefined, unit: [{ paths: UNIT }], servers: [] });
  for (const mode of ['unit', 'chosen'] as const) {
    const paths = ['src/channels', './scripts/run-tests'];
    expect(plan(mode, paths)).toEqual({ tools: undefined, unit: [{ paths }], servers: [] });
  }
});

it.each([[['test/cli']], [['src/channels', 'test/cli']], [['source']]])(
  'builds for any other path: %j',
  (paths) => {
    expect(plan('chosen', paths)).toEqual({ tools: paths, unit: [], servers: [{ paths }] });
  },
);

it('builds nothing for simulations and contracts alone', () => {
  for (const paths of [['test/simulation'], ['./test/simulation/worlds/', 'test/contracts']]) {
    expect(plan('chosen', paths).needNoBuild).toBe(true);
  }
  for (const paths of [['test/simulation', 'test/cli'], ['test/simulations']]) {
    expect(plan('chosen', paths).needNoBuild).toBeUndefined();
  }
});

it('needs the programs of clusters too where servers are over Redis', () => {
  expect(plan('chosen', ['test/cli'], true).tools).toEqual(['test/cli', 'test/cluster']);
});

it('runs clusters in the matrix, what clients see on other servers and over other transports, and faults', () => {
  const { tools, unit, servers, faults } = plan('matrix');
  expect([tools?.at(-1), unit, faults?.[0]]).toEqual(['test/cluster', [], '--small']);
  expect(servers.map(({ env }) => env)).toEqual([
    undefined,
    { TEST_THREADS: '2' },
    { TEST_TRANSPORT: 'xhr_streaming' },
    { TEST_TRANSPORT: 'xhr_polling' },
    { TEST_SERVERS: '2' },
  ]);
  expect(servers[0]?.paths).toEqual(['test/cluster']);
});

it('leaves out push on two threads, which have nothing to do with it', () => {
  const files = plan('matrix').servers[1]?.paths.filter((path) => path.endsWith('.ts'));
  expect(files).toEqual([
    'test/browser/channels.test.ts',
    'test/browser/dashboard/pages.test.ts',
    'test/compat/users.test.ts',
  ]);
});

it('narrows each run of the matrix down to paths, and leaves out clusters', () => {
  const { tools, servers, faults } = plan('matrix', ['test/compat/users.test.ts']);
  expect(faults).toBeUndefined();
  expect(tools).toEqual(['test/compat/users.test.ts', 'test/cluster']);
  expect(servers.map(({ paths }) => paths)).toEqual(
    Array.from({ length: 4 }, () => ['test/compat/users.test.ts']),
  );
});

it('names only folders and files that have tests', () => {
  const all = testFilesOf(join(import.meta.dir, '../..'));
  const { servers } = planOf({ mode: 'matrix', paths: [], options: [] }, all, false);
  const named = [
    ...servers.flatMap(({ paths }) => paths),
    ...OVER_HTTP,
    ...Object.keys(ON_REQUEST).map((folder) => `test/${folder}`),
  ];
  const withTests = (path: string) =>
    all.some((file) => file === path || file.startsWith(`${path}/`));
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !withTests(path))).toEqual([]);
});
