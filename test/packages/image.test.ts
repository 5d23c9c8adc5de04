import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json';
import { commitOf, versionOf } from '../../packaging/commit.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { api } from '../../testing/clients/sign.ts';
import { APP } from '../../testing/servers/fanfare.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { runImage, toEnd, type UnpackedImage, unpackImage } from './unpacked-image.ts';

const ROOT = join(import.meta.dir, '../..');

/** What a machine keeps of an image. */
const SIZE_MAX_BYTES = 125_000_000;

const EMULATOR = 'qemu-aarch64-static';

const folder = temporaryDirectory();
const images = new Map<string, UnpackedImage>();
afterAll(() => folder[Symbol.dispose]());

beforeAll(() => {
  for (const build of ['first', 'second']) makeImages(build);
  for (const architecture of ['amd64', 'arm64']) {
    const archive = join(folder.path, `first/fanfare-${versionOf(ROOT)}-image-${architecture}.tar`);
    images.set(architecture, unpackImage(archive, join(folder.path, architecture)));
  }
}, 900_000);

function makeImages(build: string): void {
  toEnd([
    ...['sh', 'scripts/bun.sh', 'packaging/package.ts', '--only', 'image'],
    ...['--out', join(folder.path, build)],
  ]);
}

function imageFor(architecture: string): UnpackedImage {
  const image = images.get(architecture);
  if (image === undefined) throw new Error(`No image for ${architecture}`);
  return image;
}

async function environment(): Promise<Readonly<Record<string, string>>> {
  return {
    FANFARE_CHANNELS_PORT: String(await freePort()),
    FANFARE_PUSH_PORT: String(await freePort()),
    FANFARE_ADMIN_PORT: String(await freePort()),
    FANFARE_APP_ID: APP.id,
    FANFARE_APP_KEY: APP.key,
    FANFARE_APP_SECRET: APP.secret,
  };
}

describe('the container images', () => {
  it('have the same bytes when they are made twice', () => {
    const sums = ['first', 'second'].map((build) =>
      readFileSync(join(folder.path, build, 'SHA256SUMS'), 'utf8'),
    );
    expect(sums[0]?.split('\n')).toHaveLength(3);
    expect(sums[1]).toBe(sums[0] ?? '');
  });

  it.each(['amd64', 'arm64'])(
    'describe themselves, and contain little else than the server: %s',
    (architecture) => {
      const { image, root } = imageFor(architecture);
      expect(image).toMatchObject({ architecture, os: 'linux' });
      expect(image.config).toMatchObject({
        User: '10001:10001',
        Entrypoint: ['/usr/bin/fanfare'],
        Cmd: ['serve'],
        StopSignal: 'SIGTERM',
        Volumes: { '/data': {} },
      });
      expect(Object.keys(image.config.ExposedPorts)).toEqual(['6001/tcp', '6002/tcp', '6003/tcp']);
      expect(image.config.Labels).toMatchObject({
        'org.opencontainers.image.version': versionOf(ROOT),
        'org.opencontainers.image.revision': commitOf(ROOT) ?? '',
        'org.opencontainers.image.licenses': packageJson.license,
      });
      expect(readdirSync(join(root, 'usr/bin'))).toEqual(['fanfare']);
      expect(readdirSync(join(root, 'var/lib/dpkg/status.d'))).toContain('libc6');
      expect(Number(toEnd(['du', '-sb', root]).split('\t')[0])).toBeLessThan(SIZE_MAX_BYTES);
    },
  );

  it('set the environment that the launcher sets, so that the program need not start again', () => {
    const launcher = readFileSync(join(ROOT, 'bin/fanfare'), 'utf8');
    const wanted = Array.from(
      launcher.matchAll(/\$\{([A-Z]\w+):=(\d+)\}/g),
      ([, name, value]) => `${name}=${value}`,
    );
    expect(wanted).toHaveLength(4);
    expect(imageFor('amd64').image.config.Env).toEqual(expect.arrayContaining(wanted));
  });

  it.each([
    ['amd64', process.arch === 'x64' ? undefined : 'qemu-x86_64-static'],
    ['arm64', process.arch === 'arm64' ? undefined : EMULATOR],
  ])(
    'serve as the first process, without rights, on a root that cannot be written to: %s',
    async (architecture, program) => {
      const unpacked = imageFor(architecture);
      if (program !== undefined) {
        copyFileSync(`/usr/bin/${program}`, join(unpacked.root, 'usr/bin', program));
      }
      await using container = await runImage(unpacked, {
        environment: await environment(),
        ...(program === undefined ? {} : { emulator: `/usr/bin/${program}` }),
      });
      const status = readFileSync(`/proc/${container.pid}/status`, 'utf8');
      expect(status).toMatch(/^NSpid:\t\d+\t1$/m);
      expect(status).toMatch(/^Uid:\t10001\t10001\t10001\t10001$/m);
      expect(status).toMatch(/^CapEff:\t0+$/m);

      await using client = await RawClient.connect(container.server);
      await client.subscribe('news');
      const body = JSON.stringify({ name: 'e', channel: 'news', data: 'x' });
      expect((await api(container.server, 'POST', `/apps/${APP.id}/events`, { body })).status).toBe(
        200,
      );
      expect(await client.receive()).toMatchObject({ event: 'e', channel: 'news', data: 'x' });

      for (const args of [['health'], ['health', '--ready'], ['apps', 'list']]) {
        const { exitCode, output } = container.exec(['/usr/bin/fanfare', ...args]);
        expect([args, exitCode, output]).toEqual([args, 0, expect.any(String)]);
      }
      expect(readdirSync(join(unpacked.root, 'data'))).toContain('fanfare.db');

      process.kill(container.pid, 'SIGTERM');
      expect(await container.server.process.exited).toBe(0);
    },
  );

  it('serve as any user with the group of root, as OpenShift runs them', async () => {
    // A volume as the runtime makes it, with the owner and the mode of the folder in the image.
    const unpacked = imageFor('amd64');
    const data = join(unpacked.root, 'data');
    for (const file of readdirSync(data)) rmSync(join(data, file), { recursive: true });
    await using container = await runImage(unpacked, {
      environment: await environment(),
      user: '1000650000:0',
    });
    const status = readFileSync(`/proc/${container.pid}/status`, 'utf8');
    expect(status).toMatch(/^Uid:\t1000650000\t/m);
    expect(status).toMatch(/^Groups:\s*$/m);
    await using client = await RawClient.connect(container.server);
    await client.subscribe('news');
    const { exitCode, output } = container.exec(['/usr/bin/fanfare', 'apps', 'list']);
    expect([exitCode, output]).toEqual([0, expect.any(String)]);
    expect(statSync(join(data, 'fanfare.db')).uid).toBe(1_000_650_000);
  });
});
