import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeTime } from '../../../testing/fake-time.ts';
import { makeSelfSigned } from '../../certificates/self-signed.ts';
import type { Config } from '../../config/schema.ts';
import { readTlsFiles, type TlsFiles } from '../tls-files.ts';
import { TlsRenewal } from './tls-renewal.ts';

const MINUTE_MS = 60_000;
const [one, two, three] = ['a', 'b', 'c'].map((host) => makeSelfSigned([host], Date.now()));

let folder: string;
let time: FakeTime;
let used: TlsFiles[];
let lines: string[];
let renewal: TlsRenewal;

const pair = (name: string) => ({
  certFile: join(folder, `${name}.pem`),
  keyFile: join(folder, `${name}.key`),
});

function write(name: string, certificate = one): void {
  const { certFile, keyFile } = pair(name);
  writeFileSync(certFile, certificate?.cert ?? '');
  writeFileSync(keyFile, certificate?.key ?? '');
}

const configOf = () =>
  ({
    tls: { ...pair('web'), acme: null },
    engine: {
      type: 'redis',
      url: 'rediss://a',
      keyPrefix: '',
      tls: { caFile: null, ...pair('client') },
      sentinels: {
        user: null,
        password: null,
        tls: { caFile: null, certFile: null, keyFile: null },
      },
    },
    sources: [],
    store: {
      url: 'postgres://db/x?sslmode=require',
      tls: { caFile: null, ...pair('client') },
    },
  }) as unknown as Config;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fanfare-renewal-'));
  write('web');
  write('client');
  [time, used, lines] = [new FakeTime(), [], []];
  const config = configOf();
  const note = (level: string) => (text: string, fields: unknown) =>
    void lines.push(`${level} ${text} ${JSON.stringify(fields)}`);
  renewal = new TlsRenewal({
    config,
    tlsFiles: readTlsFiles(config),
    read: readTlsFiles,
    timers: time,
    log: { info: note('info'), warn: note('warn') },
  });
  renewal.start((files) => void used.push(files));
});

afterEach(() => {
  renewal[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe('files of TLS that were renewed', () => {
  it('are used within a minute and a second, without a signal', async () => {
    await time.advance(5 * MINUTE_MS);
    write('web', two);
    await time.advance(MINUTE_MS + 1_000);
    expect(used.map(({ listeners }) => listeners)).toEqual([two]);
    expect(lines).toEqual(['info Renewed files of TLS are used {"settings":"tls"}']);
    write('client', two);
    await time.advance(MINUTE_MS + 1_000);
    expect(used.at(-1)?.store.certificate).toEqual(two);
    expect(lines.at(-1)).toContain('"engine.tls, engine.sentinels.tls, store.tls"');
    await time.advance(60 * MINUTE_MS);
    expect(used).toHaveLength(2);
  });

  it('are used after a swap of symbolic links, as Kubernetes and certbot make it', async () => {
    for (const [version, certificate] of [one, two].entries()) {
      mkdirSync(join(folder, `v${version}`));
      write(`v${version}/web`, certificate);
    }
    for (const name of ['web.pem', 'web.key']) {
      rmSync(join(folder, name));
      symlinkSync(`..data/${name}`, join(folder, name));
    }
    symlinkSync('v0', join(folder, '..data'));
    await time.advance(MINUTE_MS);
    symlinkSync('v1', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    await time.advance(MINUTE_MS + 1_000);
    expect(used.map(({ listeners }) => listeners)).toEqual([two]);
  });

  it('are not used while half of a pair is there, or while they still change', async () => {
    writeFileSync(pair('web').certFile, two?.cert ?? '');
    await time.advance(2 * MINUTE_MS);
    expect(used).toEqual([]);
    writeFileSync(pair('web').keyFile, two?.key ?? '');
    await time.advance(MINUTE_MS - 1_000);
    // Seen once, and changed again before it had settled.
    write('web', three);
    await time.advance(2 * MINUTE_MS);
    expect(used.map(({ listeners }) => listeners)).toEqual([three]);
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual([]);
    expect(renewal.fault()).toBeUndefined();
  });

  it('are reported once if they cannot be used for five minutes, until they can', async () => {
    writeFileSync(pair('web').certFile, '');
    const sinceMs = time.now() + MINUTE_MS;
    await time.advance(5 * MINUTE_MS);
    expect(renewal.fault()).toBeUndefined();
    await time.advance(30 * MINUTE_MS);
    const why = `tls.certFile: ${pair('web').certFile} is empty`;
    expect(renewal.fault()).toEqual({ why, sinceMs });
    expect(lines).toEqual([
      `warn The files of TLS cannot be used: what was read before stays ${JSON.stringify({ why })}`,
    ]);
    cpSync(pair('client').certFile, pair('web').certFile);
    await time.advance(MINUTE_MS);
    expect(renewal.fault()).toBeUndefined();
    expect(used).toEqual([]);
  });

  it('are those of the reloaded configuration after SIGHUP', async () => {
    write('web', two);
    const config = configOf();
    renewal.reloaded(config, readTlsFiles(config));
    await time.advance(10 * MINUTE_MS);
    expect(used).toEqual([]);
    expect(lines).toEqual([]);
  });
});
