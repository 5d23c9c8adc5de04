import { afterAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSelfSigned } from '../certificates/self-signed.ts';
import { type Config, configSchema } from '../config/schema.ts';
import { readTlsFiles } from './tls-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'fanfare-tls-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const [one, two] = ['a', 'b'].map((host) => makeSelfSigned([host], Date.now()));

function file(name: string, content: string | Uint8Array = ''): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const cert = file('cert.pem', one?.cert);
const key = file('key.pem', one?.key);

/** The settings that name a PEM file, and a configuration in which one of them is something else. */
const settings: readonly (readonly [string, (given: string) => object])[] = [
  ['tls.certFile', (given) => ({ tls: { certFile: given, keyFile: key } })],
  ['tls.keyFile', (given) => ({ tls: { certFile: cert, keyFile: given } })],
  ['engine.tls.caFile', (given) => redis({ tls: { caFile: given } })],
  ['engine.tls.certFile', (given) => redis({ tls: { certFile: given, keyFile: key } })],
  ['engine.tls.keyFile', (given) => redis({ tls: { certFile: cert, keyFile: given } })],
  ['engine.sentinels.tls.caFile', (given) => redis({ sentinels: { tls: { caFile: given } } })],
  ['store.tls.caFile', (given) => postgres('', { caFile: given })],
  ['store.tls.keyFile', (given) => postgres('', { certFile: cert, keyFile: given })],
  ['store.url: sslrootcert', (given) => postgres(`&sslrootcert=${given}`)],
  ['store.url: sslcert', (given) => postgres(`&sslcert=${given}&sslkey=${key}`)],
];

function redis(more: object): object {
  return { engine: { type: 'redis', url: 'rediss+sentinel://a/main', ...more } };
}

function postgres(query: string, tls: object = {}): object {
  return { store: { url: `postgres://db/x?sslmode=verify-full${query}`, tls } };
}

function read(content: object) {
  try {
    return readTlsFiles(configSchema.parse(content) as Config);
  } catch (error) {
    return error;
  }
}

describe('a file of TLS', () => {
  it.each(settings)(
    'that %s names is named with what is wrong, and is a fault of the configuration',
    (setting, make) => {
      for (const [given, fault] of [
        [file('empty.pem'), 'is empty'],
        [file('bom.pem', `\uFEFF${one?.cert}${one?.key}`), 'begins with a byte order mark'],
        [join(folder, 'none.pem'), 'does not exist'],
        [folder, 'is not a file'],
        [file('nonsense.pem', 'nonsense'), 'is not PEM'],
      ] as const) {
        expect(read(make(given))).toMatchObject({
          name: 'StartFailed',
          exitCode: 2,
          message: expect.stringContaining(`${setting}: ${given} ${fault}`),
        });
      }
    },
  );

  it('that has the key of another certificate is named together with it', () => {
    const other = file('other.key', two?.key);
    expect(read({ tls: { certFile: cert, keyFile: other } })).toMatchObject({
      exitCode: 2,
      message: `tls.certFile, tls.keyFile: ${cert} and ${other} cannot be used together: the key does not belong to the certificate`,
    });
  });

  it('is that of Redis for the sentinels as well, unless they have their own', () => {
    const ca = file('ca.pem', two?.cert);
    const tls = { caFile: cert, certFile: cert, keyFile: key };
    expect(read(redis({ tls, sentinels: { tls: { caFile: ca } } }))).toMatchObject({
      redis: {
        servers: { ca: one?.cert, certificate: one },
        sentinels: { ca: two?.cert, certificate: one },
      },
    });
  });
});
