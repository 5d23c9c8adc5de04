import { describe, expect, it } from 'bun:test';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const INSTALLER = join(import.meta.dir, '../../packaging/install.sh');
const PLATFORM = `linux-${process.arch}`;

/** A folder with releases, whose binary is a script, and with a place to install into. */
function releases(versions: readonly string[], { binary = 'echo "$0 runs"' } = {}) {
  const directory = temporaryDirectory();
  const from = join(directory.path, 'releases');
  const binDir = join(directory.path, 'bin');
  mkdirSync(from);
  const sums: string[] = [];
  for (const version of versions) {
    const name = `fanfare-${version}-${PLATFORM}`;
    mkdirSync(join(directory.path, name));
    const program = join(directory.path, name, 'fanfare');
    writeFileSync(program, `#!/bin/sh\n${binary} ${version}\n`);
    chmodSync(program, 0o755);
    const archive = join(from, `${name}.tar.gz`);
    Bun.spawnSync(['tar', '-czf', archive, '-C', directory.path, name]);
    const sum = createHash('sha256').update(readFileSync(archive)).digest('hex');
    sums.push(`${sum}  ${name}.tar.gz\n`);
  }
  writeFileSync(join(from, 'SHA256SUMS'), sums.join(''));
  return {
    path: directory.path,
    from,
    binDir,
    archive: (version: string) => join(from, `fanfare-${version}-${PLATFORM}.tar.gz`),
    installed: () => readdirSync(directory.path).includes('bin') && readdirSync(binDir),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

async function install(args: readonly string[], path = process.env['PATH'] ?? '') {
  const child = Bun.spawn(['sh', INSTALLER, ...args], {
    env: { ...process.env, PATH: path },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, exitCode };
}

describe('install.sh', () => {
  it('installs the binary of this machine from a folder, and prints how to start it', async () => {
    using release = releases(['1.2.3']);
    const { from, binDir } = release;
    const ended = await install(['--from', from, '--bin-dir', binDir]);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ended.stdout).toContain(`Installed ${binDir}/fanfare: `);
    expect(ended.stdout).toEndWith(`Start it: ${binDir}/fanfare serve\n`);
    expect(release.installed()).toEqual(['fanfare']);
  });

  it('installs from an address, over a version that is there', async () => {
    using release = releases(['1.2.3', '1.3.0+20261128130037']);
    const { from, binDir } = release;
    using server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) => new Response(Bun.file(join(from, new URL(url).pathname))),
    });
    for (const version of ['1.2.3', '1.3.0+20261128130037']) {
      const args = ['--from', `${server.url}`, '--version', version, '--bin-dir', binDir];
      expect((await install(args)).exitCode).toBe(0);
      expect(readFileSync(join(binDir, 'fanfare'), 'utf8')).toEndWith(` ${version}\n`);
    }
    expect(release.installed()).toEqual(['fanfare']);
  });

  it('installs nothing if one byte of the archive differs', async () => {
    using release = releases(['1.2.3']);
    const { from, binDir } = release;
    const bytes = readFileSync(release.archive('1.2.3'));
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    writeFileSync(release.archive('1.2.3'), bytes);
    expect(await install(['--from', from, '--bin-dir', binDir])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `install.sh: fanfare-1.2.3-${PLATFORM}.tar.gz is not what SHA256SUMS says; nothing was installed\n`,
    });
    expect(release.installed()).toBe(false);
  });

  it('keeps the old binary if the new one does not run', async () => {
    using release = releases(['1.2.3'], { binary: 'exit 3 #' });
    const { from, binDir } = release;
    mkdirSync(binDir);
    writeFileSync(join(binDir, 'fanfare'), 'old');
    const ended = await install(['--from', from, '--bin-dir', binDir]);
    expect(ended.exitCode).toBe(1);
    expect(ended.stderr).toContain('does not run on this machine');
    expect(readFileSync(join(binDir, 'fanfare'), 'utf8')).toBe('old');
    expect(release.installed()).toEqual(['fanfare']);
  });

  it.each([
    ['', 'nothing'],
    [
      `${'0'.repeat(64)}  fanfare-1.2.3-of-another.tar.gz\n${'0'.repeat(64)}  install.sh\n`,
      'fanfare-1.2.3-of-another.tar.gz install.sh',
    ],
  ])(
    'says what the sums name if the archive of this machine is not among them',
    async (sums, named) => {
      using release = releases(['1.2.3']);
      writeFileSync(join(release.from, 'SHA256SUMS'), sums);
      expect(await install(['--from', release.from, '--bin-dir', release.binDir])).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: `install.sh: ${release.from}/SHA256SUMS names no fanfare-VERSION-${PLATFORM}.tar.gz, so there is nothing to install for this machine. It names: ${named}\n`,
      });
    },
  );

  it('says which processor the binary needs if it ends by an instruction that is not there', async () => {
    using release = releases(['1.2.3'], { binary: 'kill -ILL $$ #' });
    const ended = await install(['--from', release.from, '--bin-dir', release.binDir]);
    expect(ended.exitCode).toBe(1);
    expect(ended.stderr).toContain('it needs x86-64-v2, which has SSE4.2');
    expect(release.installed()).toEqual([]);
  });

  it('accepts the name of a tag as a version', async () => {
    using release = releases(['1.2.3', '1.3.0']);
    const { from, binDir } = release;
    const ended = await install(['--from', from, '--version', 'v1.2.3', '--bin-dir', binDir]);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(readFileSync(join(binDir, 'fanfare'), 'utf8')).toEndWith(' 1.2.3\n');
  });

  it('puts nothing into a directory that has the name of the binary', async () => {
    using release = releases(['1.2.3']);
    const { from, binDir } = release;
    mkdirSync(join(binDir, 'fanfare'), { recursive: true });
    const ended = await install(['--from', from, '--bin-dir', binDir]);
    expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
    expect(ended.stderr).toContain(`${binDir}/fanfare is a directory`);
    expect(readdirSync(join(binDir, 'fanfare'))).toEqual([]);
  });

  it.each([
    [['--from'], '--from needs a value'],
    [[], '--from is missing'],
    [['--form', 'x'], 'unknown option --form'],
    [['--from', 'RELEASES'], 'has several versions: choose one with --version: 1.2.3 1.3.0\n'],
    [
      ['--from', 'RELEASES', '--version', '9.9.9'],
      `RELEASES/SHA256SUMS has no sum of fanfare-9.9.9-${PLATFORM}.tar.gz; nothing was installed`,
    ],
    [['--from', '/nothing/there'], '/nothing/there/SHA256SUMS cannot be read'],
  ])('refuses %j with the reason', async (args, message) => {
    using release = releases(['1.2.3', '1.3.0']);
    const given = args.map((arg) => (arg === 'RELEASES' ? release.from : arg));
    const { exitCode, stderr } = await install([...given]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(message.replace('RELEASES', release.from));
  });

  it.each([
    ['Darwin', 'x86_64', 'there is no binary for Darwin'],
    ['Linux', 'riscv64', 'there is no binary for riscv64'],
  ])('refuses machines without a binary: %s %s', async (system, machine, message) => {
    using release = releases(['1.2.3']);
    const tools = join(release.path, 'tools');
    mkdirSync(tools);
    writeFileSync(
      join(tools, 'uname'),
      `#!/bin/sh\n[ "$1" = -s ] && echo ${system} || echo ${machine}\n`,
    );
    chmodSync(join(tools, 'uname'), 0o755);
    const path = `${tools}:${process.env['PATH']}`;
    const { exitCode, stderr } = await install(['--from', release.from], path);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});
