import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { api } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Companion, startCompanion } from '../../testing/servers/companion.ts';
import {
  configOf,
  type Fanfare,
  spawnFanfare,
  startFanfare,
} from '../../testing/servers/fanfare.ts';
import { selfSigned } from '../../testing/servers/openssl.ts';
import { FREE_PORTS, fanfare, fanfareProcess, temporaryDirectory } from './run-fanfare.ts';

describe('the first start without a configuration', () => {
  it('makes one app with an id of digits, and prints the command that shows its secret', async () => {
    using directory = temporaryDirectory();
    let id = '';
    let secret = '';
    {
      await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
      const { stdout } = server.output;
      id = /app id +(\d+)$/m.exec(stdout)?.[1] ?? '';
      const key = /^ +key +([0-9a-f]{20})$/m.exec(stdout)?.[1] ?? '';
      const shown = await fanfare(directory.path, ['apps', 'show', id, '--secret']);
      secret = /\b[0-9a-f]{40}\b/.exec(shown.stdout)?.[0] ?? '';
      expect(secret).not.toBe('');
      expect(id).toMatch(/^\d+$/);
      expect(stdout).toContain(`new Pusher('${key}', {`);
      expect(stdout).toContain(`  secret  npx fanfare apps show ${id} --secret\n`);
      expect(stdout).toContain(`appId: '${id}', key: '${key}', secret: 'SECRET'`);
      expect(stdout).toContain(`wsPort: ${server.port}`);
      expect(stdout + server.output.stderr).not.toContain(secret);

      const answer = await api(server, 'GET', `/apps/${id}/channels`, { key, secret });
      expect(await answer.json()).toEqual({ channels: {} });
      expect(await server.stop()).toBe(0);
    }
    {
      await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
      const { stdout } = server.output;
      expect(stdout).toContain(`App ${id}`);
      expect(stdout).toContain(`npx fanfare apps show ${id} --secret`);
      expect(stdout).toContain(`http://0.0.0.0:${server.port}`);
      expect(stdout).toContain(`http://127.0.0.1:${server.adminPort}`);
      expect(stdout).not.toContain(secret);
    }
  });
});

describe('a server whose configuration lists apps', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('creates no app of its own', async () => {
    const listed = await fanfare(server.directory, [
      'apps',
      'list',
      '--json',
      '--config',
      'config.json',
    ]);
    expect(listed.stdout).toBe('[]\n');
    expect(server.output.stdout).toContain('App 3 (test)');
  });

  it('shows on its admin listener that it is alive and ready', async () => {
    const admin = `http://127.0.0.1:${server.adminPort}`;
    expect(await (await fetch(`${admin}/healthz`)).text()).toBe('ok\n');
    const ready = await fetch(`${admin}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([200, 'ready\n']);
    expect((await fetch(`${admin}/nothing`)).status).toBe(401);
    const wrong = await fetch(`${admin}/readyz`, { method: 'POST' });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('a start that fails', () => {
  it('lists every problem of the configuration with its path, and ends with 2', async () => {
    using directory = temporaryDirectory({
      'bad.json': JSON.stringify({
        channels: { port: 70_000, apps: [{ id: '1', keys: [{ key: 'k' }] }] },
        chanels: {},
      }),
    });
    const ended = await fanfare(directory.path, ['serve', '--config', 'bad.json']);
    expect(ended.exitCode).toBe(2);
    expect(ended.stdout).toBe('');
    expect(ended.stderr).toContain('channels.apps[0].keys[0].secret: required');
    expect(ended.stderr).toContain('channels.port: must be between 0 and 65535, got 70000');
    expect(ended.stderr).toContain('chanels: unknown setting');
  });

  it('reports in one line that a port is taken, and ends with 1', async () => {
    using directory = temporaryDirectory();
    const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
    for (const name of ['CHANNELS', 'ADMIN']) {
      const ended = await fanfareProcess(directory.path, ['serve'], {
        ...FREE_PORTS,
        [`FANFARE_${name}_HOST`]: '127.0.0.1',
        [`FANFARE_${name}_PORT`]: String(other.port),
      });
      expect(ended.exitCode).toBe(1);
      const setting = name.toLowerCase();
      expect(ended.stderr).toBe(
        `fanfare: 127.0.0.1:${other.port} (${setting}.host, ${setting}.port) is in use by another program\n`,
      );
    }
    await other.stop(true);
  });

  it('reports why the store cannot be opened, and ends with 1', async () => {
    using directory = temporaryDirectory({ 'not-a-database': 'x'.repeat(5000) });
    const ended = await fanfareProcess(directory.path, ['serve'], {
      ...FREE_PORTS,
      FANFARE_STORE_URL: 'sqlite:not-a-database',
    });
    expect(ended.exitCode).toBe(1);
    expect(ended.stderr).toStartWith('fanfare: The store sqlite:not-a-database cannot be opened: ');
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
  });

  it('reports why a certificate cannot be ordered, and ends', async () => {
    using directory = temporaryDirectory();
    await using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
    const acme = {
      ...FREE_PORTS,
      FANFARE_CHANNELS_HOST: '127.0.0.1',
      FANFARE_TLS_ACME_DOMAINS: 'ws.example.test',
      FANFARE_TLS_ACME_EMAIL: 'ops@example.test',
      FANFARE_TLS_ACME_HTTP_PORT: String(other.port),
    };
    const taken = await fanfareProcess(directory.path, ['serve'], acme);
    expect([taken.exitCode, taken.stderr.trim().split('\n').pop()]).toEqual([
      1,
      `fanfare: 127.0.0.1:${other.port} (channels.host, tls.acme.httpPort) is in use by another program`,
    ]);
    const alone = await fanfareProcess(directory.path, ['serve'], {
      ...acme,
      FANFARE_ENGINE_TYPE: 'redis',
      FANFARE_ENGINE_URL: 'redis://127.0.0.1:1',
    });
    expect([alone.exitCode, alone.stderr]).toEqual([
      2,
      expect.stringContaining('tls.acme: several servers share a certificate in their store'),
    ]);
  });

  it('refuses an engine that this version does not have, rather than run without it', async () => {
    using directory = temporaryDirectory();
    const ended = await fanfareProcess(directory.path, ['serve'], {
      ...FREE_PORTS,
      FANFARE_ENGINE_TYPE: 'redis',
      FANFARE_ENGINE_URL: 'redis://127.0.0.1:1',
    });
    expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('engine.type') });
  });

  it('names the certificate file that cannot be read, and ends with 2', async () => {
    using directory = temporaryDirectory();
    const ended = await fanfareProcess(directory.path, ['serve'], {
      ...FREE_PORTS,
      FANFARE_TLS_CERT_FILE: 'none.pem',
      FANFARE_TLS_KEY_FILE: 'none.key',
    });
    expect(ended).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('tls.certFile: none.pem'),
    });
  });

  it('names both files if the key is not the key of the certificate, and ends with 2', async () => {
    using directory = temporaryDirectory();
    const [one, two] = [selfSigned(directory.path, 'one'), selfSigned(directory.path, 'two')];
    const ended = await fanfareProcess(directory.path, ['serve'], {
      ...FREE_PORTS,
      FANFARE_TLS_CERT_FILE: one.certFile,
      FANFARE_TLS_KEY_FILE: two.keyFile,
    });
    expect(ended).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`tls.certFile, tls.keyFile: ${one.certFile} and`),
    });
  });
});

describe('stopping', () => {
  let companion: Companion;
  beforeAll(async () => {
    companion = await startCompanion();
  });
  afterAll(() => companion[Symbol.asyncDispose]());

  it.each(['SIGTERM', 'SIGINT'] as const)('ends with 0 on %s', async (signal) => {
    await using server = await startFanfare();
    expect(await server.stop(signal)).toBe(0);
  });

  it('is no longer ready, and closes with 4200 in steps', async () => {
    const config = { ...companion.config, drainSeconds: 3 };
    await using server = await startFanfare({ config });
    const clients: RawClient[] = [];
    for (let n = 0; n < 20; n++) clients.push(await RawClient.connect(server));
    const closedAt = Promise.all(
      clients.map(async (client) => {
        const closed = await client.closed;
        return { ...closed, at: performance.now() };
      }),
    );
    const asked = performance.now();
    const stopped = server.stop();
    await server.logged(/Stopping/);
    // The other thread learns of it a moment later.
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${server.adminPort}/readyz`)).status,
      (status) => status === 503,
    );

    const closed = await closedAt;
    expect(closed.map(({ code }) => code)).toEqual(clients.map(() => 4200));
    const times = closed.map(({ at }) => at - asked).sort((a, b) => a - b);
    // One in each step of 100 ms, so that they do not all come back at the same moment.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1000);
    expect(await stopped).toBe(0);
  });

  it('continues for stopDelaySeconds, but is no longer ready, so that load balancers use other servers', async () => {
    await using server = await startFanfare({ config: { stopDelaySeconds: 60 } });
    await using client = await RawClient.connect(server);
    server.process.kill('SIGTERM');
    await server.logged(/Stopping/);
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${server.adminPort}/readyz`)).status,
      (status) => status === 503,
    );
    // Both old and new connections are served.
    await client.subscribe('news');
    await using late = await RawClient.connect(server);
    await late.subscribe('news');
    // A second signal ends the delay, too. One that follows within half a second counts as the first.
    await eventually(
      async () => {
        server.process.kill('SIGTERM');
        return server.process.exitCode;
      },
      (code) => code === 0,
    );
  });

  it('treats the same signal twice in a moment as one, and a later one as an order to stop at once', async () => {
    const config = { ...companion.config, drainSeconds: 60 };
    await using server = await startFanfare({ config });
    const clients: RawClient[] = [];
    for (let n = 0; n < 700; n++) clients.push(await RawClient.connect(server));
    server.process.kill('SIGINT');
    server.process.kill('SIGINT');
    const last = clients.at(-1);
    // The drain continues after both signals: two connections are closed every 100 ms.
    await clients[19]?.closed;
    expect(server.process.exitCode).toBeNull();
    await last?.receiveNothing();
    expect(await server.stop('SIGINT')).toBe(0);
  });

  it('gets a signal that was sent to npm start', async () => {
    using directory = temporaryDirectory();
    const file = join(directory.path, 'config.json');
    writeFileSync(file, JSON.stringify(configOf(directory.path)));
    const npm = Bun.spawn(['npm', 'start', '--', '--config', file], {
      cwd: join(import.meta.dir, '../..'),
      stdout: 'pipe',
      stderr: 'ignore',
    });
    let printed = '';
    const decoder = new TextDecoder();
    for await (const bytes of npm.stdout) {
      printed += decoder.decode(bytes, { stream: true });
      if (printed.includes('Admin ')) break;
    }
    npm.kill('SIGTERM');
    await npm.exited;
    const port = /Channels +http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1];
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });
});
