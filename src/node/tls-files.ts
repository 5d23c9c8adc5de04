import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config/schema.ts';
import {
  type ClientTlsFiles,
  type NamedFile,
  redisTlsFiles,
  storeTlsFiles,
  urlTlsFiles,
} from '../config/settings/tls-file-names.ts';
import type { RedisTls } from '../engines/redis/link/connector.ts';
import { fileFault, messageOf } from '../runtime/error-code.ts';
import type { Certificate, ClientTls } from '../runtime/tls/certificate.ts';
import { type PemKind, pairFault, pemFault } from '../runtime/tls/pem.ts';
import { StartFailed } from './start-failed.ts';

/** A bundle of all authorities of a system has 0.3 MB. A longer file is a mistake. */
const FILE_BYTES_MAX = 4 * 1_048_576;

/** The contents of the files of TLS that the configuration names. */
export interface TlsFiles {
  /** The certificate of both public listeners; `undefined`: the configuration names none. */
  readonly listeners: Certificate | undefined;
  readonly redis: RedisTls;
  readonly store: ClientTls;
  /** Of each source, in the order of the setting. */
  readonly sources: readonly ClientTls[];
}

/** Reads all of them. Throws `StartFailed`, with the setting, if one cannot be used. */
export function readTlsFiles(config: Config): TlsFiles {
  return {
    listeners: readListenerTls(config),
    redis: readRedisTls(config),
    store: readStoreTls(config),
    sources: config.sources.map(({ url }, place) =>
      readClientTls(urlTlsFiles(`sources[${place}].url`, url)),
    ),
  };
}

export function readRedisTls(config: Config): RedisTls {
  const { servers, sentinels } = redisTlsFiles(config);
  return { servers: readClientTls(servers), sentinels: readClientTls(sentinels) };
}

export function readStoreTls(config: Pick<Config, 'store'>): ClientTls {
  return readClientTls(storeTlsFiles(config));
}

function readListenerTls({ tls }: Config): Certificate | undefined {
  const { certFile, keyFile } = tls;
  if (certFile === null || keyFile === null) return undefined;
  return readPair(
    { setting: 'tls.certFile', file: certFile },
    { setting: 'tls.keyFile', file: keyFile },
  );
}

function readClientTls({ ca, cert, key }: ClientTlsFiles): ClientTls {
  return {
    ca: ca === undefined ? undefined : readPem(ca, 'certificate'),
    certificate: cert === undefined || key === undefined ? undefined : readPair(cert, key),
  };
}

function readPair(cert: NamedFile, key: NamedFile): Certificate {
  const pair = { cert: readPem(cert, 'certificate'), key: readPem(key, 'private key') };
  const fault = pairFault(pair) ?? contextFault(pair);
  if (fault === undefined) return pair;
  const message = `${cert.setting}, ${key.setting}: ${cert.file} and ${key.file} cannot be used together: ${fault}`;
  throw new StartFailed({ exitCode: 2, message });
}

/** Why TLS does not take a pair, such as a key that is too weak. The listener would say the same, without naming the settings. */
function contextFault(pair: Certificate): string | undefined {
  try {
    createSecureContext(pair);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Reads a PEM file. Throws `StartFailed` if it is not one. */
export function readPem({ setting, file }: NamedFile, kind: PemKind): string {
  const read = readBytes(file);
  const fault = typeof read === 'string' ? read : pemFault(read, kind);
  if (fault !== undefined || typeof read === 'string') {
    throw new StartFailed({ exitCode: 2, message: `${setting}: ${file} ${fault}` });
  }
  return read.toString('utf8');
}

/** The content of a file, or why it cannot be read. */
function readBytes(file: string): Buffer | string {
  try {
    const found = statSync(file);
    // A pipe without a writer would block the start for ever.
    if (!found.isFile()) return 'is not a file';
    if (found.size > FILE_BYTES_MAX) return 'is larger than 4 MiB';
    return readFileSync(file);
  } catch (error) {
    return fileFault(error);
  }
}
