import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { chmodSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { RawHttp } from '../../testing/clients/raw-http.ts';
import { eventually } from '../../testing/eventually.ts';
import { programOfOtherUser } from '../../testing/other-user.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { fanfare, fanfareProcess, temporaryDirectory } from './run-fanfare.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    channels: { host: '[::]' },
    config: {
      push: { host: '[::]', port: 0 },
      admin: { host: '[::]', port: 0, pathPrefix: '/ops' },
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Asks as an image does, by environment variables. */
async function health(
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
) {
  using directory = temporaryDirectory();
  return await fanfare(directory.path, ['health', ...args], {
    FANFARE_ADMIN_PORT: String(server.adminPort),
    ...environment,
  });
}

/** Asks a port itself. */
async function ask(port: number, method: string, target: string) {
  await using connection = await RawHttp.open({ port });
  return await connection.request({ method, target });
}

describe('fanfare health', () => {
  it('asks the server of the configuration, whatever its host setting, and ends with 0', async () => {
    for (const host of ['::', '[::]', '0.0.0.0', '127.0.0.1', '::1', '[::1]', 'localhost']) {
      expect(await health([], { FANFARE_ADMIN_HOST: host })).toEqual({
        exitCode: 0,
        // Another server may have the port.
        stdout: `ok (server ${hostname()}:${server.process.pid})\n`,
        stderr: '',
      });
    }
    expect(await health(['--ready', '--json'])).toMatchObject({
      exitCode: 0,
      stdout: `{"ok":true,"text":"ready","server":"${hostname()}:${server.process.pid}"}\n`,
    });
  });

  it('asks past the proxy of the environment, and without the password', async () => {
    using directory = temporaryDirectory();
    // Bun reads these when it starts.
    const ended = await fanfareProcess(directory.path, ['health'], {
      FANFARE_ADMIN_PORT: String(server.adminPort),
      HTTP_PROXY: 'http://127.0.0.1:1',
      http_proxy: 'http://127.0.0.1:1',
      FANFARE_ADMIN_PASSWORD: 'wrong',
    });
    expect(ended).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^ok /) });
  });

  it('is not the only command that reaches the server of this machine past the proxy', async () => {
    for (const host of ['127.0.0.1', '::1', 'localhost']) {
      const link = ['admin', 'link', '--config', join(server.directory, 'config.json')];
      const ended = await fanfareProcess(server.directory, link, {
        FANFARE_ADMIN_HOST: host,
        FANFARE_ADMIN_PORT: String(server.adminPort),
        HTTP_PROXY: 'http://127.0.0.1:1',
        http_proxy: 'http://127.0.0.1:1',
      });
      expect(ended).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('#token=') });
    }
  });

  it('reports a running server as healthy while its configuration file has a mistake', async () => {
    expect(await health([], { FANFARE_NOTHING: '1' })).toMatchObject({ exitCode: 0 });
  });

  it('ends with 1 if nothing, another program or an unreadable configuration is there', async () => {
    const none = await health([], { FANFARE_ADMIN_PORT: '1' });
    expect(none.exitCode).toBe(1);
    expect(none.stderr).toStartWith('fanfare: http://127.0.0.1:1 does not answer: ');

    using other = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { data: (socket) => void socket.end('SSH-2.0-x\r\n') },
    });
    expect(await health([], { FANFARE_ADMIN_PORT: String(other.port) })).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `fanfare: http://127.0.0.1:${other.port} does not answer: another program answers there\n`,
    });

    const any = await health([], { FANFARE_ADMIN_PORT: '0' });
    expect(any).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('admin.port is 0') });
    expect(await health(['--config', 'gone.yaml'])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'fanfare: gone.yaml: does not exist\n',
    });
  });

  it('with --ready ends with 1 while the server stops, and reports why', async () => {
    await using stopping = await startFanfare({ config: { stopDelaySeconds: 60 } });
    stopping.process.kill('SIGTERM');
    await stopping.logged(/Stopping/);
    const port = { FANFARE_ADMIN_PORT: String(stopping.adminPort) };
    const ended = await eventually(
      () => health(['--ready'], port),
      ({ exitCode }) => exitCode === 1,
    );
    expect(ended.stderr).toMatch(/\/readyz \(server .*\) answers 503: /);
    expect(ended.stderr).toContain('realtime: stopping');
    expect(await health([], port)).toMatchObject({ exitCode: 0 });
    // The ports for clients say no more than the status.
    for (const port of [stopping.port, stopping.pushPort]) {
      const { body } = await eventually(
        () => ask(port, 'GET', '/readyz'),
        ({ status }) => status === 503,
      );
      expect(body).toBe('not ready\n');
      expect(await ask(port, 'GET', '/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
    }
  });
});

describe('the ports that load balancers balance', () => {
  const ports = () => [server.port, server.pushPort, server.adminPort];

  it('answer health checks, by GET and HEAD, without reasons', async () => {
    for (const port of ports()) {
      for (const [target, body] of [
        ['/healthz', 'ok\n'],
        ['/readyz', 'ready\n'],
      ] as const) {
        const get = await ask(port, 'GET', target);
        expect(get).toMatchObject({ status: 200, body });
        expect(get.headers.get('content-type')).toBe('text/plain; charset=utf-8');
        expect(get.headers.get('cache-control')).toBe('no-store');
        expect(get.headers.get('content-length')).toBe(String(body.length));
        const head = await ask(port, 'HEAD', target);
        expect(head).toMatchObject({ status: 200, body: '' });
        expect([...head.headers.keys()].toSorted()).toEqual([...get.headers.keys()].toSorted());
        const post = await ask(port, 'POST', target);
        expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      }
    }
  });

  it('answer those of HTTP/1.0 without a Host header', async () => {
    for (const port of ports()) {
      await using connection = await RawHttp.open({ port });
      connection.write('GET /readyz HTTP/1.0\r\n\r\n');
      expect(await connection.readToEnd()).toMatch(/^HTTP\/1\.[01] 200 .*ready\n$/s);
    }
  });
});

describe('the configuration of the machine', () => {
  it('is not passed over by a user who may not read it', async () => {
    using directory = temporaryDirectory({ 'fanfare.yaml': 'drainSeconds: 1' });
    using scripts = temporaryDirectory();
    const load = join(import.meta.dir, '../../src/config/load.ts');
    const script = `
      import { loadConfig } from ${JSON.stringify(load)};
      const systemDirectory = ${JSON.stringify(directory.path)};
      console.log(JSON.stringify(loadConfig({ directory: '/', environment: {}, systemDirectory })));`;
    const file = join(scripts.path, 'load.ts');
    writeFileSync(file, script);
    using program = process.getuid?.() === 0 ? await programOfOtherUser(file) : undefined;
    chmodSync(directory.path, 0o000);
    const child = Bun.spawn([...(program?.command ?? [process.execPath, file])], {
      cwd: '/',
      env: { ...process.env, HOME: '/' },
      stdout: 'pipe',
    });
    const printed = await new Response(child.stdout).json();
    chmodSync(directory.path, 0o700);
    expect(printed).toEqual({
      ok: false,
      problems: [
        {
          path: directory.path,
          message: expect.stringContaining('may not be read (permission denied); run this as'),
        },
      ],
    });
  });
});
