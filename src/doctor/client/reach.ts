import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { withTimeout } from '../../runtime/system-timers.ts';
import { judgeCertificate } from '../checks/certificate.ts';
import { type Finding, failed, notChecked, ok, warning } from '../finding.ts';
import type { TargetAddress } from '../target.ts';
import { type Destination, Link } from './link.ts';

/** How hard to try, and which certificates to trust. */
export interface Manner {
  readonly timeoutMs: number;
  /** PEM text of a further certificate authority to trust. */
  readonly ca: string | undefined;
  /** Go on with an untrusted certificate. */
  readonly insecure: boolean;
}

/** Addresses of one name that are tried. */
const ADDRESSES_MAX = 4;

/** Resolves the name of an endpoint. */
export async function checkName(
  { hostname }: TargetAddress,
  { timeoutMs }: Manner,
): Promise<{ readonly finding: Finding; readonly found: readonly string[] }> {
  if (isIP(hostname) !== 0) return { finding: ok(`${hostname} is an address`), found: [hostname] };
  const looked = lookup(hostname, { all: true }).catch(
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );
  const answer = await withTimeout(timeoutMs, looked, () => 'TIMEOUT');
  if (typeof answer !== 'string' && answer.length > 0) {
    const found = [...new Set(answer.map(({ address }) => address))];
    return {
      finding: ok(`${hostname} is ${found.join(', ')}`),
      found: found.slice(0, ADDRESSES_MAX),
    };
  }
  const code = typeof answer === 'string' ? answer : 'no address';
  const unknown = /NOTFOUND|NODATA|no address/.test(code);
  return {
    finding: failed(
      `the name ${hostname} ${unknown ? 'does not exist in the DNS' : 'could not be looked up'} (${code})`,
      unknown
        ? 'Check the spelling of the host; otherwise make an A or AAAA record for it. Inside Docker or Kubernetes, names of services exist only in the same network.'
        : 'The name server of this machine does not answer: check /etc/resolv.conf and the network.',
    ),
    found: [],
  };
}

/** Connects to each address, and returns the first that accepts. */
export async function checkTcp(
  endpoint: TargetAddress,
  addresses: readonly string[],
  { ca, timeoutMs }: Manner,
): Promise<{ readonly finding: Finding; readonly destination: Destination | undefined }> {
  const codes: [address: string, code: string][] = [];
  let working: Destination | undefined;
  for (const address of addresses) {
    const destination = { endpoint, address, ca };
    const opened = await Link.open(destination, 'tcp', timeoutMs);
    if (opened.ok) {
      opened.link[Symbol.dispose]();
      working ??= destination;
    } else codes.push([address, opened.code]);
  }
  return {
    finding: describeTcp(endpoint, working?.address, codes, timeoutMs),
    destination: working,
  };
}

function describeTcp(
  { hostname, port }: TargetAddress,
  working: string | undefined,
  codes: readonly (readonly [address: string, code: string])[],
  timeoutMs: number,
): Finding {
  const [first] = codes;
  if (first === undefined) return ok(`port ${port} takes connections`);
  if (working !== undefined) {
    const silent = codes.map(([address, code]) => `${address} (${code})`).join(', ');
    const detail = `port ${port} takes connections at ${working}, but not at ${silent}`;
    // The usual pair of names of this machine; every client tries both.
    if (hostname === 'localhost') return ok(detail);
    return warning(
      detail,
      'Some clients try that address first and wait: let the server listen there too (IPv6: host "::"), or take it out of the DNS.',
    );
  }
  const [address, code] = first;
  const at = `${address}, port ${port}`;
  switch (code) {
    case 'ECONNREFUSED':
      return failed(
        `nothing listens at ${at} (refused)`,
        'Check that the server runs (Fanfare: systemctl status, docker ps), that the port is right, and that it does not listen on 127.0.0.1 only: in a container it must listen on 0.0.0.0, and the port must be published.',
      );
    case 'TIMEOUT':
    case 'ETIMEDOUT':
      return failed(
        `no answer from ${at} within ${timeoutMs / 1000} s`,
        'A firewall or security group drops the packets, or the machine is down or has another address. Let the port in; --timeout waits longer.',
      );
    case 'ECONNRESET':
      return failed(
        `${at} resets the connection`,
        'Something drops it: a firewall, a list of allowed addresses, or a full proxy. Check its log.',
      );
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return failed(
        `there is no route to ${at} (${code})`,
        'Check the network of this machine; an IPv6 address needs IPv6 here too.',
      );
    default:
      return failed(`${at} cannot be connected to (${code})`, 'Check the host and the port.');
  }
}

/** Makes a TLS handshake and judges the certificate. */
export async function checkTls(destination: Destination, manner: Manner): Promise<Finding> {
  const { endpoint } = destination;
  if (!endpoint.tls) return notChecked('the URL begins with http://');
  const opened = await Link.open(destination, 'all', manner.timeoutMs);
  if (opened.ok) {
    using link = opened.link;
    return link.presented === undefined
      ? notChecked('the connection has no TLS')
      : judgeCertificate(link.presented, endpoint.hostname, Date.now());
  }
  const { code } = opened;
  if (/WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH/.test(code)) {
    return failed(
      `port ${endpoint.port} does not speak TLS`,
      'Write the URL with http://, or give the port that has TLS (Fanfare: tls.certFile and tls.keyFile turn it on).',
    );
  }
  if (code === 'TIMEOUT') {
    return failed(
      `the TLS handshake gets no answer within ${manner.timeoutMs / 1000} s`,
      'The port may not speak TLS (try http://), the server may hang, or a firewall inspects TLS and holds it back.',
    );
  }
  return failed(
    `the TLS handshake fails (${code})`,
    'Often the server has no certificate for this host name (SNI), takes only old versions of TLS (1.2 or newer is needed), or the port does not speak TLS at all (try http://). Look at its log.',
  );
}

/** Whether a TLS handshake succeeds, whatever the certificate is. */
export async function acceptsTls(
  destination: Destination,
  { timeoutMs }: Manner,
): Promise<boolean> {
  const opened = await Link.open(destination, 'all', timeoutMs);
  if (opened.ok) opened.link[Symbol.dispose]();
  return opened.ok;
}
