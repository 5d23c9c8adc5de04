import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { NEW_RSA_KEY, selfSigned } from '../../../testing/servers/openssl.ts';
import { temporaryDirectory } from '../../cli/run-fanfare.ts';

let server: Fanfare;
let directory: ReturnType<typeof temporaryDirectory>;
beforeAll(async () => {
  directory = temporaryDirectory();
  const { certFile, keyFile } = selfSigned(directory.path, 'rsa', 'IP:127.0.0.1', NEW_RSA_KEY);
  const push = { host: '127.0.0.1', port: 0 };
  server = await startFanfare({ config: { tls: { certFile, keyFile }, push } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** The suite that a client and a port agree on; `undefined`: the port has refused all of the client's. */
async function suiteOf(port: number, options: readonly string[]): Promise<string | undefined> {
  const args = ['s_client', '-connect', `127.0.0.1:${port}`, ...options];
  const client = Bun.spawn(['openssl', ...args], { stdin: null, stdout: 'pipe', stderr: 'pipe' });
  const [printed, errors] = await Promise.all([client.stdout.text(), client.stderr.text()]);
  await client.exited;
  const suite = /^New, TLSv\S+, Cipher is (\S+)$/m.exec(printed)?.[1];
  if (suite === undefined) expect(errors).toMatch(/alert (handshake failure|protocol version)/);
  return suite;
}

describe.each<[string, () => number]>([
  ['Channels', () => server.port],
  ['push', () => server.pushPort],
])('the listener for %s', (_, port) => {
  it.each([
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ])('accepts %s with TLS 1.2', async (suite) => {
    expect(await suiteOf(port(), ['-tls1_2', '-cipher', suite])).toBe(suite);
  });

  it('accepts TLS 1.3', async () => {
    expect(await suiteOf(port(), ['-tls1_3'])).toStartWith('TLS_');
  });

  it('refuses a key exchange by RSA, of which a stolen key reveals what was recorded', async () => {
    const suites = 'kRSA:@SECLEVEL=0';
    expect(await suiteOf(port(), ['-tls1_2', '-cipher', suites])).toBeUndefined();
  });

  it('refuses suites without authenticated encryption', async () => {
    const suites = 'ALL:COMPLEMENTOFALL:!AESGCM:!CHACHA20:!AESCCM:!ARIA:@SECLEVEL=0';
    expect(await suiteOf(port(), ['-tls1_2', '-cipher', suites])).toBeUndefined();
  });

  it.each(['-tls1', '-tls1_1'])('refuses older versions: %s', async (version) => {
    const suites = 'ALL:@SECLEVEL=0';
    expect(await suiteOf(port(), [version, '-cipher', suites])).toBeUndefined();
  });
});
