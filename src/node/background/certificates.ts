import { type CertificateFault, faultOf } from '../../certificates/certificate-fault.ts';
import { Certificates } from '../../certificates/certificates.ts';
import { ChallengeServer } from '../../certificates/challenge-server.ts';
import { validity } from '../../certificates/order-plan.ts';
import type { Config } from '../../config/schema.ts';
import type { TableMeter } from '../../observability/meter.ts';
import { fetchByName } from '../../outgoing/proxy/proxied-fetch.ts';
import { systemTimers } from '../../runtime/system-timers.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import { StoredCertificates } from '../../stores/certificates/certificate-store.ts';
import { listenError } from '../listen-error.ts';
import { readPem } from '../tls-files.ts';
import type { BackgroundBase } from './base.ts';

/** The source of this server's certificate: files, an authority, or none. */
export interface CertificatesPart extends AsyncDisposable {
  /** The certificate to start with; `undefined` for plain HTTP. */
  readonly tls: Certificate | undefined;
  fault(): CertificateFault | undefined;
  /** Starts ordering and renewing; reports each new certificate. */
  start(changed: (tls: Certificate) => void): void;
  /** Called when the configuration was read again. */
  reloaded(tls: Certificate | undefined): void;
}

/** Throws `StartFailed`, or what the store throws. */
export async function openCertificates(base: BackgroundBase): Promise<CertificatesPart> {
  const { tls } = base.config;
  return tls.acme === null ? fromFiles(base) : await fromAuthority(base, tls.acme);
}

function fromFiles({ tlsFiles, meter }: BackgroundBase): CertificatesPart {
  const { listeners: tls } = tlsFiles;
  noteEnd(meter, tls);
  return {
    tls,
    fault: () => undefined,
    start: () => undefined,
    reloaded: (changed) => noteEnd(meter, changed),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function fromAuthority(
  { config, database, proxy, meter, log }: BackgroundBase,
  acme: NonNullable<Config['tls']['acme']>,
): Promise<CertificatesPart> {
  await using parts = new AsyncDisposableStack();
  const ca =
    acme.caFile === null
      ? undefined
      : readPem({ setting: 'tls.acme.caFile', file: acme.caFile }, 'certificate');
  let report: (tls: Certificate) => void = () => undefined;
  const certificates = parts.use(
    await Certificates.open({
      ...acme,
      store: new StoredCertificates(database),
      send: (url, init) =>
        fetchByName(proxy, new URL(url), { ...init, ...(ca !== undefined && { tls: { ca } }) }),
      timers: systemTimers,
      random: Math.random,
      changed(changed) {
        noteEnd(meter, changed);
        report(changed);
      },
      onOrder: (outcome) => meter.count('certificateOrders', 1, outcome),
      log,
    }),
  );
  const { certificate } = certificates;
  if (certificates.state.endsAtMs === undefined) {
    log.warn('There is no certificate yet: clients cannot connect until one is obtained');
  } else {
    noteEnd(meter, certificate);
  }
  parts.use(openChallengeServer(certificates, { ...acme, host: config.channels.host }));
  const running = parts.move();
  return {
    tls: certificate,
    fault: () => faultOf(certificates.state, systemTimers.now()),
    start(changed) {
      report = changed;
      certificates.start();
    },
    reloaded: () => certificates.retry(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface ChallengeAddress {
  readonly host: string;
  readonly httpPort: number;
  readonly domains: readonly string[];
}

function openChallengeServer(
  certificates: Certificates,
  { host, httpPort: port, domains }: ChallengeAddress,
): ChallengeServer {
  try {
    return new ChallengeServer({
      host,
      port,
      domains,
      answer: (token) => certificates.answer(token),
    });
  } catch (error) {
    throw listenError(error, 'tls.acme', { host, port, names: 'channels.host, tls.acme.httpPort' });
  }
}

function noteEnd(meter: TableMeter, tls: Certificate | undefined): void {
  if (tls !== undefined) meter.set('certificateEnd', validity(tls).untilMs / 1000);
}
