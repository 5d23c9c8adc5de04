import { writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { makeSelfSigned } from '../../src/certificates/self-signed.ts';
import { eventually } from '../../testing/eventually.ts';
import { freePort } from '../../testing/servers/free-port.ts';

/** A name that its certificate is for. It leads nowhere. */
export const AUTHORITY = 'authority.example.test';

/** Pebble, the authority that Let's Encrypt tests with. */
export interface Pebble extends AsyncDisposable {
  readonly directory: string;
  /** The file of the certificate that its directory is trusted by. */
  readonly caFile: string;
  /** The root of the certificates that it issues, as PEM. */
  root(): Promise<string>;
}

export interface PebbleOptions {
  /** Where its files are. */
  readonly folder: string;
  /** The port that it checks domains at. */
  readonly httpPort: number;
  readonly validSeconds: number;
}

/** Starts it. Every domain leads to 127.0.0.1, and a fifth of all nonces is refused. */
export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  const { folder, httpPort, validSeconds } = options;
  await using parts = new AsyncDisposableStack();
  // Pebble asks over TCP, where each message has its length in front. Its queries come in one piece.
  const dns = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        const answer = loopbackAnswer(bytes.subarray(2));
        socket.write(Buffer.concat([Buffer.of(answer.length >> 8, answer.length & 0xff), answer]));
      },
    },
  });
  parts.defer(() => dns.stop(true));

  const [port, managementPort] = [await freePort(), await freePort()];
  const tls = makeSelfSigned(['127.0.0.1', AUTHORITY], Date.now());
  const fileOf = (name: string, content: string) => {
    const file = join(folder, name);
    writeFileSync(file, content);
    return file;
  };
  const caFile = fileOf('pebble.pem', tls.cert);
  const config = fileOf(
    'pebble.json',
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${managementPort}`,
        certificate: caFile,
        privateKey: fileOf('pebble.key', tls.key),
        httpPort,
        tlsPort: await freePort(),
        keyAlgorithm: 'ecdsa',
        retryAfter: { authz: 1, order: 1 },
        profiles: { default: { description: 'test', validityPeriod: validSeconds } },
      },
    }),
  );
  const program = Bun.which('pebble') ?? join(homedir(), 'go/bin/pebble');
  const dnsServer = `127.0.0.1:${dns.port}`;
  const pebble = Bun.spawn([program, '-config', config, '-dnsserver', dnsServer], {
    env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20' },
    stdout: Bun.file(join(folder, 'pebble.log')),
    stderr: 'inherit',
  });
  parts.defer(async () => {
    pebble.kill();
    await pebble.exited;
  });
  const read = (url: string) => fetch(url, { tls: { ca: tls.cert } });
  const directory = `https://127.0.0.1:${port}/dir`;
  await eventually(
    () =>
      read(directory).then(
        ({ ok }) => ok,
        () => false,
      ),
    (isUp) => isUp,
  );
  const running = parts.move();
  return {
    directory,
    caFile,
    root: async () => await (await read(`https://127.0.0.1:${managementPort}/roots/0`)).text(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Answers a query for an address with 127.0.0.1, and any other with nothing. Source: RFC 1035, 4. */
function loopbackAnswer(query: Buffer): Buffer {
  let end = 12;
  while ((query[end] ?? 0) !== 0) end += 1 + (query[end] ?? 0);
  const isAddress = query.readUInt16BE(end + 1) === 1;
  const head = Buffer.from([
    ...query.subarray(0, 2),
    0x85,
    0x80,
    0,
    1,
    0,
    isAddress ? 1 : 0,
    0,
    0,
    0,
    0,
  ]);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
  const question = query.subarray(12, end + 5);
  return Buffer.concat(isAddress ? [head, question, record] : [head, question]);
}
