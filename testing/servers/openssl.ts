import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate and its key, as PEM and as the files they are in. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
}

const NEW_KEY = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
export const NEW_RSA_KEY = '-newkey rsa:2048 -nodes';

/** Makes a self-signed certificate. */
export function selfSigned(
  directory: string,
  name: string,
  hosts = 'IP:127.0.0.1',
  newKey = NEW_KEY,
): Certificate {
  openssl(
    directory,
    `req -x509 ${newKey} -keyout ${name}.key -out ${name}.pem -days 90 -subj /CN=${name} -addext subjectAltName=${hosts}`,
  );
  return read(directory, name);
}

/** Makes a certificate that is signed by an authority. */
export function issued(
  directory: string,
  authority: string,
  name: string,
  { days, host }: { readonly days: number; readonly host: string },
): Certificate {
  writeFileSync(join(directory, `${name}.ext`), `subjectAltName=${host}\n`);
  openssl(directory, `req ${NEW_KEY} -keyout ${name}.key -out ${name}.csr -subj /CN=${name}`);
  openssl(
    directory,
    `x509 -req -in ${name}.csr -CA ${authority}.pem -CAkey ${authority}.key -CAcreateserial -days ${days} -extfile ${name}.ext -out ${name}.pem`,
  );
  return read(directory, name);
}

function openssl(directory: string, args: string): void {
  const { exitCode, stderr } = Bun.spawnSync(['openssl', ...args.split(' ')], { cwd: directory });
  if (exitCode !== 0) throw new Error(`openssl: ${stderr}`);
}

function read(directory: string, name: string): Certificate {
  const certFile = join(directory, `${name}.pem`);
  const keyFile = join(directory, `${name}.key`);
  return {
    cert: readFileSync(certFile, 'utf8'),
    key: readFileSync(keyFile, 'utf8'),
    certFile,
    keyFile,
  };
}
