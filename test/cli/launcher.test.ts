import { expect, it } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { FREE_PORTS, temporaryDirectory } from './run-fanfare.ts';

const LAUNCHER = join(import.meta.dir, '../../bin/fanfare');

/** The environment of a server that was started with the launcher, read after its first output. */
async function environmentOf(given: Readonly<Record<string, string>>): Promise<readonly string[]> {
  using directory = temporaryDirectory();
  const child = Bun.spawn(['sh', LAUNCHER, 'serve'], {
    cwd: directory.path,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...FREE_PORTS, ...given },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  try {
    await child.stdout.getReader().read();
    return readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
  } finally {
    child.kill();
    await child.exited;
  }
}

it('starts a server that returns free memory after 2 s, prepares none, and may send 1,024 requests at a time', async () => {
  expect(await environmentOf({})).toEqual(
    expect.arrayContaining([
      'MIMALLOC_PURGE_DELAY=2000',
      'MIMALLOC_PURGE_HOLES_MIN_INTERVAL=2000',
      'BUN_JSC_useWarmUpMarkedBlocks=0',
      'BUN_CONFIG_MAX_HTTP_REQUESTS=1024',
    ]),
  );
});

it('keeps environment variables that the operator has set', async () => {
  const given = {
    MIMALLOC_PURGE_DELAY: '100',
    MIMALLOC_PURGE_HOLES_MIN_INTERVAL: '0',
    BUN_JSC_useWarmUpMarkedBlocks: '1',
    BUN_CONFIG_MAX_HTTP_REQUESTS: '300',
  };
  expect(await environmentOf(given)).toEqual(
    expect.arrayContaining(Object.entries(given).map((pair) => pair.join('='))),
  );
});

/** What the launcher prints on standard error for a command line that fails. */
async function complains(
  command: readonly string[],
  { directory, given = {} }: { directory: string; given?: Readonly<Record<string, string>> },
): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: directory,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...given },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  return await new Response(child.stderr).text();
}

it('loads neither .env nor bunfig.toml of the working directory', async () => {
  using directory = temporaryDirectory({
    '.env': 'FANFARE_NOTHING_LIKE_IT=1\n',
    'bunfig.toml': 'preload = ["./hostile.ts"]\n',
    'hostile.ts': 'console.error("hostile");',
  });
  const printed = await complains([LAUNCHER, 'health'], {
    directory: directory.path,
    given: { FANFARE_ADMIN_PORT: '1' },
  });
  expect(printed).toMatch(/^fanfare: http:\/\/127\.0\.0\.1:1 does not answer: .*\n$/);
});

/** Copies the script that installs packages into a clone, and returns its path. */
function installerIn(clone: string): string {
  const script = join(clone, 'scripts/install-packages.sh');
  mkdirSync(join(clone, 'scripts'));
  copyFileSync(join(import.meta.dir, '../../scripts/install-packages.sh'), script);
  return script;
}

it('does not let npm empty the folder behind a link named node_modules', async () => {
  using modules = temporaryDirectory({ 'of-another-clone': '' });
  using tools = temporaryDirectory({ npm: '#!/bin/sh\nrm -r node_modules/*\n' });
  using clone = temporaryDirectory({ 'package-lock.json': '{}' });
  chmodSync(join(tools.path, 'npm'), 0o755);
  const script = installerIn(clone.path);
  symlinkSync(modules.path, join(clone.path, 'node_modules'));
  const printed = await complains(['sh', script, 'run'], {
    directory: clone.path,
    given: { PATH: `${tools.path}:${process.env['PATH']}` },
  });
  expect(printed).toBe(
    `fanfare: ${clone.path}/node_modules is a link to ${modules.path}, where not everything is that package-lock.json pins. Run 'npm ci' in the folder that it belongs to, or remove the link.\n`,
  );
  expect(readdirSync(modules.path)).toEqual(['of-another-clone']);
});

it('installs packages also if the home cannot be written, where npm would keep its cache', async () => {
  using tools = temporaryDirectory({
    npm: '#!/bin/sh\nmkdir node_modules\necho "$npm_config_cache"\n',
  });
  using clone = temporaryDirectory({ 'package-lock.json': '{}', 'a-file': '' });
  chmodSync(join(tools.path, 'npm'), 0o755);
  const script = installerIn(clone.path);
  // As where npm itself has started this: it passes the path of the cache on.
  const home = join(clone.path, 'a-file');
  const cacheFor = async (given: Readonly<Record<string, string>>) => {
    const PATH = `${tools.path}:${process.env['PATH']}`;
    const environment = { PATH, TMPDIR: tools.path, ...given };
    const printed = await complains(['sh', script, 'run'], {
      directory: clone.path,
      given: environment,
    });
    rmSync(join(clone.path, 'node_modules'), { recursive: true });
    return printed.split('\n')[1];
  };
  const kept = join(tools.path, 'cache');
  expect(await cacheFor({ npm_config_cache: kept, HOME: home })).toBe(kept);
  for (const given of [{}, { npm_config_cache: join(home, '.npm') }]) {
    const cache = (await cacheFor({ HOME: home, ...given })) ?? '';
    expect(cache).toStartWith(tools.path);
    // It is removed afterwards.
    expect(existsSync(cache)).toBe(false);
  }
});

it('says that Bun cannot start from a folder with a question mark or a backslash in its path', async () => {
  for (const name of ['what?', 'a\\b']) {
    using place = temporaryDirectory();
    const scripts = join(place.path, name, 'scripts');
    mkdirSync(scripts, { recursive: true });
    copyFileSync(join(import.meta.dir, '../../scripts/bun.sh'), join(scripts, 'bun.sh'));
    expect(await complains(['sh', join(scripts, 'bun.sh')], { directory: place.path })).toBe(
      `fanfare: Bun starts no program in a folder with ? or \\ in its path: ${join(place.path, name)}\n`,
    );
  }
});

it('says which processor Bun needs if that ends by an instruction that is not there', async () => {
  using clone = temporaryDirectory();
  const bun = join(clone.path, 'node_modules/@oven/bun-linux-x64/bin/bun');
  mkdirSync(join(bun, '..'), { recursive: true });
  mkdirSync(join(clone.path, 'scripts'));
  writeFileSync(bun, '#!/bin/sh\nkill -ILL $$\n', { mode: 0o755 });
  for (const name of ['bun.sh', 'install-packages.sh']) {
    copyFileSync(join(import.meta.dir, '../../scripts', name), join(clone.path, 'scripts', name));
  }
  const command = ['sh', join(clone.path, 'scripts/bun.sh')];
  const printed = await complains(command, { directory: clone.path });
  expect(printed).toContain(
    'fanfare: This processor lacks instructions that Bun needs: it needs x86-64-v2',
  );
  expect(printed).not.toContain('npm ci');
});

it('names itself in hints as it was called', async () => {
  using directory = temporaryDirectory();
  symlinkSync(LAUNCHER, join(directory.path, 'fanfare'));
  const hint = async (command: string, given: Readonly<Record<string, string>> = {}) =>
    (await complains([command, 'serve', '--wrong'], { directory: directory.path, given }))
      .split('\n')
      .find((line) => line.startsWith('See: '));

  expect(await hint(LAUNCHER)).toBe(`See: ${LAUNCHER} serve --help`);
  expect(
    await hint(join(directory.path, 'fanfare'), {
      PATH: `${directory.path}:${process.env['PATH']}`,
    }),
  ).toBe('See: fanfare serve --help');
  expect(await hint(LAUNCHER, { npm_lifecycle_event: 'npx' })).toBe(
    'See: npx fanfare serve --help',
  );
});
