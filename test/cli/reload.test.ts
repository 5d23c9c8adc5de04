import { describe, expect, it } from 'bun:test';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { api, signedTarget, trigger } from '../../testing/clients/sign.ts';
import { APP, configOf, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { selfSigned } from '../../testing/servers/openssl.ts';
import { temporaryDirectory } from './run-fanfare.ts';

/** Writes the configuration of a server, and returns the arguments that start it. */
function configure(directory: string, options: Parameters<typeof configOf>[1]): string[] {
  const file = join(directory, 'config.json');
  writeFileSync(file, JSON.stringify(configOf(directory, options)));
  return ['serve', '--config', file];
}

const OTHER = { id: '4', keys: [{ key: 'other-key', secret: 'other-secret' }] };

describe('SIGHUP', () => {
  it('takes over the apps of the configuration, and keeps the connections of unchanged apps', async () => {
    using directory = temporaryDirectory();
    const args = configure(directory.path, {});
    await using server = await spawnFanfare(args, directory.path);
    await using client = await RawClient.connect(server);
    await client.subscribe('news');

    configure(directory.path, { app: { clientEvents: true }, moreApps: [OTHER] });
    server.process.kill('SIGHUP');
    await server.logged(/Apps changed/);

    await using other = await RawClient.connect(server, { path: pathOf(7, 'other-key') });
    await other.subscribe('news');
    await trigger(server, { name: 'e', channel: 'news', data: 'd' });
    expect(await client.receive()).toEqual({ event: 'e', channel: 'news', data: 'd' });
    await other.receiveNothing();

    configure(directory.path, {});
    server.process.kill('SIGHUP');
    expect(await other.closed).toMatchObject({ code: 4003 });
    await client.receiveNothing();
  });

  it('keeps the running configuration if the file is empty, sets a name twice, or is gone', async () => {
    using directory = temporaryDirectory();
    const file = join(directory.path, 'fanfare.yaml');
    const text = JSON.stringify(configOf(directory.path));
    writeFileSync(file, text);
    await using server = await spawnFanfare(['serve'], directory.path);
    await using client = await RawClient.connect(server);
    await client.subscribe('news');
    const reloads = async (logged: RegExp) => {
      const line = server.logsNext(logged);
      server.process.kill('SIGHUP');
      await line;
    };
    for (const empty of ['', '# all commented out\n', '{}']) {
      writeFileSync(file, empty);
      await reloads(/The configuration was not reloaded.*fanfare\.yaml is empty/);
    }
    writeFileSync(file, `${text.slice(0, -1)}, "channels": {"apps": []}}`);
    await reloads(
      /fanfare\.yaml: is not valid YAML: line 1, column \d+: channels is set for the second time/,
    );
    rmSync(file);
    await reloads(/The configuration was not reloaded.*its file is gone/);
    await trigger(server, { name: 'e', channel: 'news', data: 'd' });
    expect(await client.receive()).toEqual({ event: 'e', channel: 'news', data: 'd' });
    writeFileSync(file, text);
    await reloads(/Reloaded apps, instances and certificate/);
  });

  it.each([1, 3])('is over only when all of %i realtime loops serve it', async (threads) => {
    using directory = temporaryDirectory();
    const started = { config: { realtime: { threads } } };
    const args = configure(directory.path, started);
    await using server = await spawnFanfare(args, directory.path);
    for (let number = 0; number < 10; number++) {
      const moreApps = [{ id: '4', keys: [{ key: `key-${number}`, secret: 'secret' }] }];
      configure(directory.path, { ...started, moreApps });
      const reloaded = server.logsNext(/Reloaded apps, instances and certificate/);
      server.process.kill('SIGHUP');
      await reloaded;
      const path = pathOf(7, `key-${number}`);
      const clients = await Promise.all(
        Array.from({ length: 6 }, () => RawClient.connect(server, { path })),
      );
      await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
    }
  });

  it('names the changed settings that need a restart', async () => {
    using directory = temporaryDirectory();
    await using server = await spawnFanfare(configure(directory.path, {}), directory.path);
    configure(directory.path, { config: { webhooks: { logDays: 1 }, drainSeconds: 7 } });
    server.process.kill('SIGHUP');
    expect(JSON.parse(await server.logged(/need a restart/))).toMatchObject({
      level: 'warn',
      message: 'Changed settings need a restart',
      settings: 'webhooks.logDays, drainSeconds',
    });
  });

  it('keeps the old configuration if the new one has problems, and lists them', async () => {
    using directory = temporaryDirectory();
    const args = configure(directory.path, {});
    await using server = await spawnFanfare(args, directory.path);
    writeFileSync(join(directory.path, 'config.json'), '{"channels": {"port": "x"}}');
    server.process.kill('SIGHUP');
    await server.logged(/The configuration was not reloaded/);
    expect(server.output.stderr).toContain('channels.port: must be');
    expect((await api(server, 'GET', `/apps/${APP.id}/channels`)).status).toBe(200);
  });

  it('uses another certificate from then on, and open connections still get events', async () => {
    using directory = temporaryDirectory();
    const [one, two] = [selfSigned(directory.path, 'one'), selfSigned(directory.path, 'two')];
    const tls = {
      certFile: join(directory.path, 'now.crt'),
      keyFile: join(directory.path, 'now.key'),
    };
    const use = (certificate: typeof one) => {
      cpSync(certificate.certFile, tls.certFile);
      cpSync(certificate.keyFile, tls.keyFile);
    };
    use(one);
    await using server = await spawnFanfare(
      configure(directory.path, { config: { tls } }),
      directory.path,
    );
    const subjectOf = () => subjectAt(server.port);
    expect(await subjectOf()).toBe('one');
    const before = await openClient(server.port);

    use(two);
    server.process.kill('SIGHUP');
    await server.logged(/Reloaded apps, instances and certificate/);
    expect(await subjectOf()).toBe('two');
    const after = await openClient(server.port);

    const left = { socket_id: after.socketId };
    await triggerOverTls(server.port, { name: 'e', channel: 'news', data: 'd', ...left });
    expect((await before.next()).event).toBe('e');
    await triggerOverTls(server.port, { name: 'f', channel: 'news', data: 'd' });
    // The excluded connection gets only the later event.
    expect((await after.next()).event).toBe('f');
    expect((await before.next()).event).toBe('f');

    // A certificate that cannot be used changes nothing.
    writeFileSync(tls.certFile, 'nonsense');
    server.process.kill('SIGHUP');
    await server.logged(/was not reloaded/);
    expect(await subjectOf()).toBe('two');
    before.close();
    after.close();
  });
});

describe('a renewed certificate', () => {
  it('is used by both listeners and all threads without a signal, once its key is there', async () => {
    using directory = temporaryDirectory();
    const [one, two] = [selfSigned(directory.path, 'one'), selfSigned(directory.path, 'two')];
    const tls = {
      certFile: join(directory.path, 'now.crt'),
      keyFile: join(directory.path, 'now.key'),
    };
    cpSync(one.certFile, tls.certFile);
    cpSync(one.keyFile, tls.keyFile);
    const config = { tls, realtime: { threads: 2 } };
    const program = `${import.meta.dir}/../failure/fast-minutes.fixture.ts`;
    const args = configure(directory.path, { config });
    const environment = { FANFARE_REALTIME_THREADS: '2' };
    await using server = await spawnFanfare(args, directory.path, environment, { program });
    const ports = [server.port, server.pushPort];
    const subjects = async () => await Promise.all(ports.map(subjectAt));
    expect(await subjects()).toEqual(['one', 'one']);

    cpSync(two.certFile, tls.certFile);
    expect(await subjects()).toEqual(['one', 'one']);
    cpSync(two.keyFile, tls.keyFile);
    const line = await server.logged(/Renewed files of TLS are used/);
    expect(JSON.parse(line)).toMatchObject({ level: 'info', settings: 'tls' });
    await server.logged(/The channels listener uses another certificate/);
    await server.logged(/The push listener uses another certificate/);
    // The kernel gives a connection to either thread.
    for (let n = 0; n < 8; n++) expect(await subjects()).toEqual(['two', 'two']);
  }, 60_000);
});

/** The name in the certificate of a listener. */
function subjectAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

async function triggerOverTls(port: number, event: object): Promise<void> {
  const body = JSON.stringify(event);
  const target = signedTarget('POST', `/apps/${APP.id}/events`, { body });
  const answer = await fetch(`https://127.0.0.1:${port}${target}`, {
    method: 'POST',
    body,
    tls: { rejectUnauthorized: false },
  });
  expect(await answer.text()).toBe('{}');
}

/** A client over TLS that is subscribed to `news`. */
async function openClient(port: number) {
  const socket = new WebSocket(`wss://127.0.0.1:${port}${pathOf(7)}`, {
    tls: { rejectUnauthorized: false },
  });
  const received: { event: string; data: string }[] = [];
  let wake: (() => void) | undefined;
  socket.addEventListener('message', ({ data }) => {
    received.push(JSON.parse(data));
    wake?.();
  });
  const next = async () => {
    while (received.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
    const first = received.shift();
    if (first === undefined) throw new Error('Nothing was received');
    return first;
  };
  const established = await next();
  socket.send('{"event":"pusher:subscribe","data":{"channel":"news"}}');
  await next();
  return {
    socketId: String(JSON.parse(established.data).socket_id),
    next,
    close: () => socket.close(),
  };
}
