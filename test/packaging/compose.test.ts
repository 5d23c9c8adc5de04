import { expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { YAML } from 'bun';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { spawnFanfare } from '../../testing/servers/fanfare.ts';
import { startRedis } from '../../testing/servers/redis.ts';
import { FREE_PORTS, temporaryDirectory } from '../cli/run-fanfare.ts';

/** The Compose files: the server must accept what they pass to it. */

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const FOLDER = join(import.meta.dir, '../../packaging/compose');
const NAMES = ['single.yaml', 'postgres.yaml', 'cluster.yaml'];
const SECRETS = '/run/secrets/';

function read(name: string): ComposeFile {
  return YAML.parse(readFileSync(join(FOLDER, name), 'utf8')) as ComposeFile;
}

it('every command that builds the image says which version and commit its labels name', () => {
  const others = ['container/Containerfile', '../docs/operate/install.md'];
  for (const file of [...NAMES.map((name) => `compose/${name}`), ...others]) {
    const text = readFileSync(join(FOLDER, '..', file), 'utf8');
    const commands = text.split('\n').filter((line) => line.includes('docker build -f'));
    expect([file, commands.length]).toEqual([file, 1]);
    expect(commands[0]).toContain(' $(sh packaging/version.sh --build-args) -t fanfare .');
  }
});

it.each(NAMES)(
  'the servers of %s start with their variables, and serve their app',
  async (name) => {
    await using parts = new AsyncDisposableStack();
    const { services, secrets } = read(name);
    const ours = Object.values(services).filter(({ image }) => image === 'fanfare');
    const needs = (start: string) =>
      ours.some(({ environment = {} }) =>
        Object.keys(environment).some((key) => key.startsWith(start)),
      );
    const files: Record<string, string> = { 'app-secret': 'a-secret\n', 'admin-password': 'pw\n' };
    if (needs('FANFARE_STORE_URL')) {
      files['store-url'] = `${parts.use(await throwAwayPostgres()).url}\n`;
    }
    const redis = needs('FANFARE_ENGINE') ? parts.use(await startRedis()).url : undefined;
    const folder = parts.use(temporaryDirectory(files));
    const starting = ours.map((service) => {
      const variables = Object.entries(service.environment ?? {}).map(([key, value]) => {
        if (key === 'FANFARE_ENGINE_URL') return [key, redis ?? ''] as const;
        if (!value.startsWith(SECRETS)) return [key, value] as const;
        const secret = value.slice(SECRETS.length);
        expect(service.secrets).toContain(secret);
        expect(secrets[secret]?.file).toBe(`secrets/${secret}`);
        return [key, join(folder.path, secret)] as const;
      });
      const own = parts.use(temporaryDirectory());
      return spawnFanfare(['serve'], own.path, {
        ...Object.fromEntries(variables),
        ...FREE_PORTS,
        FANFARE_STOP_DELAY_SECONDS: '0',
      });
    });
    for (const server of await Promise.all(starting)) {
      parts.use(server);
      await using client = await RawClient.connect(server, { path: pathOf(7, 'app-key') });
      await client.subscribe('news');
    }
  },
);
