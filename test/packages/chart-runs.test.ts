import { afterAll, describe, expect, it } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import {
  COMMAND_IN_HINTS,
  commandOf,
  type Fanfare,
  spawnProgram,
} from '../../testing/servers/fanfare.ts';
import { sharedRedis } from '../../testing/servers/redis.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import {
  containerOf,
  environmentOf,
  exampleNames,
  type KubernetesObject,
  mountVolumes,
  objectsOf,
  packChart,
  type Secrets,
} from './rendered-chart.ts';

const directory = temporaryDirectory();
afterAll(() => directory[Symbol.dispose]());
const archive = packChart(directory.path);

/** What Kubernetes sets for Services in pods that allow it. */
const SERVICE_LINKS = {
  FANFARE_PORT: 'tcp://10.96.0.7:6001',
  FANFARE_SERVICE_HOST: '10.96.0.7',
  FANFARE_SERVICE_PORT_CHANNELS: '6001',
  FANFARE_ADMIN_PORT: 'tcp://10.96.0.8:6003',
};

/** Runs the server as the pod would, on free ports and with folders of this machine in place of its volumes. */
async function run(
  objects: readonly KubernetesObject[],
  secrets: Secrets,
  environment: Readonly<Record<string, string>> = {},
): Promise<Fanfare> {
  const folder = join(directory.path, crypto.randomUUID());
  mkdirSync(folder);
  const mounts = mountVolumes(objects, { folder, secrets });
  const here = (path: string) => {
    for (const [inPod, outside] of mounts) {
      if (path === inPod || path.includes(`${inPod}/`)) return path.replace(inPod, outside);
    }
    return path;
  };
  const { command, args, workingDir } = containerOf(objects);
  expect(command).toEqual(['/usr/bin/fanfare']);
  const rendered = Object.entries(environmentOf(objects)).map(
    ([name, value]) => [name, /^FANFARE_\w+_PORT$/.test(name) ? '0' : here(value)] as const,
  );
  return await spawnProgram([...commandOf(), ...args], here(workingDir), {
    ...COMMAND_IN_HINTS,
    ...environment,
    ...Object.fromEntries(rendered),
  });
}

async function secretsOf(): Promise<{ readonly secrets: Secrets } & AsyncDisposable> {
  const database = await throwAwayPostgres();
  const redis = await sharedRedis();
  return {
    secrets: {
      'shop-app': { 'app-secret': 'a secret of an app' },
      'fanfare-settings': { 'settings.yaml': 'trustedProxies: [10.0.0.0/8]\n' },
      'fanfare-database': { url: database.url, 'store-url': database.url },
      'fanfare-admin': { password: 'letmein', 'admin-password': 'letmein' },
      'fanfare-redis': { url: redis, 'engine-urls': `${redis}\n` },
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

describe('the server, run with what the chart renders', () => {
  it.each(exampleNames)(
    'listens, answers all three probes, and ends with 0: %s',
    async (example) => {
      await using given = await secretsOf();
      // The Redis of these tests has no sentinels.
      const values = { engine: { sentinelsPasswordSecret: { name: '' } } };
      const objects = objectsOf(archive, { example, values });
      const environment = environmentOf(objects);
      const container = containerOf(objects);
      for (const { name, containerPort } of container.ports) {
        expect(environment[`FANFARE_${name.toUpperCase()}_PORT`]).toBe(String(containerPort));
      }

      await using server = await run(objects, given.secrets);
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
        const { path, port } = container[probe].httpGet;
        expect(port).toBe('admin');
        const answer = await fetch(`http://127.0.0.1:${server.adminPort}${path}`);
        expect([probe, answer.status]).toEqual([probe, 200]);
      }
      for (const port of [server.port, server.pushPort]) {
        const { status } = await fetch(`http://127.0.0.1:${port}/none`);
        expect(status).toBe(404);
      }
      expect(await server.stop()).toBe(0);
    },
  );

  it('serves the app of the values, and its metrics only with the password', async () => {
    await using given = await secretsOf();
    const values = { admin: { passwordSecret: { name: 'fanfare-admin' } } };
    const objects = objectsOf(archive, { example: 'single', values });
    await using server = await run(objects, given.secrets);
    await using client = await RawClient.connect(server, { path: '/app/shop-key?protocol=7' });
    expect(await client.subscribe('news')).toBeDefined();
    const metrics = (headers: Record<string, string>) =>
      fetch(`http://127.0.0.1:${server.adminPort}/metrics`, { headers });
    expect((await metrics({})).status).toBe(401);
    expect((await metrics({ authorization: 'Bearer letmein' })).status).toBe(200);
  });

  it('starts with the variables that Kubernetes sets for a Service called fanfare', async () => {
    await using given = await secretsOf();
    const objects = objectsOf(archive, { example: 'single' });
    await using server = await run(objects, given.secrets, SERVICE_LINKS);
    expect(await server.stop()).toBe(0);
  });
});
