import { describe, expect, it } from 'bun:test';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { selfSigned } from '../../testing/servers/openssl.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

function freePort(): number {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const { port = 0 } = server;
  void server.stop(true);
  return port;
}

/** The names in the certificates of many connections, each once. The kernel puts the connections on several threads. */
async function certificatesOf({ port }: Fanfare): Promise<readonly string[]> {
  const nameOf = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on('error', reject);
    });
  return [...new Set(await Promise.all(Array.from({ length: 40 }, nameOf)))];
}

describe('the port of a server', () => {
  it.each<[first: number, second: number, who: (first: Fanfare) => string]>([
    [2, 2, ({ process }) => `Fanfare, process ${process.pid}`],
    [2, 1, () => 'another program'],
    [1, 2, () => 'another program'],
  ])('with %p threads is refused to one with %p threads', async (threads, second, who) => {
    const port = freePort();
    await using first = await startFanfare({ threads, channels: { port } });

    const refused = startFanfare({ threads: second, channels: { port } });

    await expect(refused).rejects.toThrow(
      `fanfare: 127.0.0.1:${port} (channels.host, channels.port) is in use by ${who(first)}\n`,
    );
    await expect(refused).rejects.toThrow('exit code 1');
  });

  it('is free again as soon as a server with several threads has stopped', async () => {
    const port = freePort();
    await using first = await startFanfare({ threads: 2, channels: { port } });
    expect(await first.stop('SIGKILL')).toBe(137);
    await using second = await startFanfare({ threads: 2, channels: { port } });
    expect(await second.stop()).toBe(0);
    await using third = await startFanfare({ threads: 2, channels: { port } });
    expect(third.port).toBe(port);
  });
});

it('a new certificate is used by all threads, a bad one by none', async () => {
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
  await using server = await startFanfare({ threads: 4, config: { tls } });
  expect(await certificatesOf(server)).toEqual(['one']);

  use(two);
  server.process.kill('SIGHUP');
  await server.logged(/Reloaded apps, instances and certificate/);
  expect(await certificatesOf(server)).toEqual(['two']);

  writeFileSync(tls.certFile, 'nonsense');
  server.process.kill('SIGHUP');
  await server.logged(/was not reloaded/);
  expect(await certificatesOf(server)).toEqual(['two']);
});
