import { checkServerIdentity } from 'node:tls';
import type { Presented } from '../client/link.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';

const DAY_MS = 86_400_000;
/** Days before its end from which on a certificate is a warning. */
const DAYS_LEFT_MIN = 14;

/** Explanations of OpenSSL's codes for a certificate chain. Expiry and names have checks of their own. */
const distrusts: Readonly<Record<string, readonly [detail: string, advice: string]>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: [
    'the certificate is self-signed, so no client trusts it',
    'Get one from an authority that clients know (Let’s Encrypt: certbot, or Caddy by itself). For tests: --insecure continues anyway, --ca FILE trusts it.',
  ],
  SELF_SIGNED_CERT_IN_CHAIN: [
    'the certificate is from an authority of your own, which clients do not know',
    'Install that authority on the clients (NODE_EXTRA_CA_CERTS for Node backends), or get a public certificate. Here: --ca FILE trusts it.',
  ],
};

const INCOMPLETE: readonly [detail: string, advice: string] = [
  'the issuer of the certificate is unknown: an intermediate certificate is missing, or the authority is not public',
  'Let the server send the whole chain (nginx: ssl_certificate fullchain.pem; Fanfare: tls.certFile with the chain). Browsers often hide this, phones and backends do not. An authority of your own: --ca FILE.',
];

/** Checks the certificate that a server presented. Reports every fault, worst first. */
export function judgeCertificate(
  { certificate, distrust, protocol }: Presented,
  hostname: string,
  nowMs: number,
): Finding {
  const faults: (readonly [detail: string, advice: string])[] = [];
  const fromMs = Date.parse(certificate.valid_from);
  const untilMs = Date.parse(certificate.valid_to);
  const until = `on ${certificate.valid_to}`;
  if (untilMs <= nowMs) {
    faults.push([
      `the certificate expired ${until}`,
      'Renew it (certbot renew) and make the server or the proxy reload it; then find out why that did not happen automatically.',
    ]);
  }
  if (fromMs > nowMs) {
    faults.push([
      `the certificate is not valid before ${certificate.valid_from}`,
      'Check the clock of this machine (date -u); otherwise issue it again.',
    ]);
  }
  const misnamed = checkServerIdentity(hostname, certificate);
  if (misnamed !== undefined) {
    faults.push([
      `the certificate is for another host: it names ${certificate.subjectaltname ?? certificate.subject?.CN ?? 'none'}, not ${hostname}`,
      'Use a host that it names, or issue it again for this one. If a proxy serves several sites, the one for this host may be missing and another answers.',
    ]);
  }
  const [soonest] = faults;
  const named = soonest !== undefined && /EXPIRED|NOT_YET_VALID|ALTNAME/.test(distrust ?? '');
  if (distrust !== undefined && !named) faults.push(distrusts[distrust] ?? issuerFault(distrust));

  if (faults.length > 0) {
    return failed(
      faults.map(([detail]) => detail).join('; '),
      faults.map(([, advice]) => advice).join('\n'),
    );
  }
  const daysLeft = Math.floor((untilMs - nowMs) / DAY_MS);
  return daysLeft < DAYS_LEFT_MIN
    ? warning(
        `the certificate expires in ${daysLeft} days, ${until}`,
        'Renew it now (certbot renew), and find out why that did not happen automatically: usually it does 30 days before.',
      )
    : ok(`${protocol ?? 'TLS'}, the certificate is valid for ${daysLeft} more days`);
}

function issuerFault(code: string): readonly [detail: string, advice: string] {
  return /ISSUER|LEAF_SIGNATURE/.test(code)
    ? INCOMPLETE
    : [`the certificate is not trusted (${code})`, INCOMPLETE[1]];
}
