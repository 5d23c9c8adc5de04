import { expect, it } from 'bun:test';
import type { PeerCertificate } from 'node:tls';
import { judgeCertificate } from './certificate.ts';

const NOW_MS = Date.parse('2026-06-15T12:00:00Z');
const inDays = (days: number) => new Date(NOW_MS + days * 86_400_000).toUTCString();

interface Given {
  readonly host?: string;
  readonly from?: string;
  readonly to?: string;
  readonly distrust?: string;
  readonly protocol?: string | null;
}

function judge({ host = 'ws.example.com', from = inDays(-30), to = inDays(60), ...given }: Given) {
  const certificate = {
    subject: { CN: 'ws.example.com' },
    subjectaltname: 'DNS:ws.example.com',
    valid_from: from,
    valid_to: to,
  } as PeerCertificate;
  const { distrust, protocol = 'TLSv1.3' } = given;
  return judgeCertificate({ certificate, distrust, protocol }, host, NOW_MS);
}

it('finds a certificate in order, and says for how long', () => {
  expect(judge({})).toEqual({
    result: 'ok',
    detail: 'TLSv1.3, the certificate is valid for 60 more days',
  });
  expect(judge({ protocol: null }).detail).toStartWith('TLS, ');
});

it('warns of a certificate from 13 days before its end on', () => {
  expect(judge({ to: inDays(14) }).result).toBe('ok');
  expect(judge({ to: inDays(13.9) })).toMatchObject({
    result: 'warning',
    detail: expect.stringContaining('expires in 13 days'),
    advice: expect.stringContaining('Renew it now'),
  });
});

it.each<[string, Given, string, string]>([
  ['that has expired', { to: inDays(0) }, 'expired on', 'certbot renew'],
  ['that is not valid yet', { from: inDays(1) }, 'is not valid before', 'clock of this machine'],
  [
    'for another host',
    { host: 'example.com' },
    'for another host: it names DNS:ws.example.com, not example.com',
    'issue it again for this one',
  ],
  [
    'that signs itself',
    { distrust: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    'is self-signed',
    '--insecure',
  ],
  [
    'of an own authority',
    { distrust: 'SELF_SIGNED_CERT_IN_CHAIN' },
    'an authority of your own',
    'NODE_EXTRA_CA_CERTS',
  ],
  [
    'without its intermediate certificate',
    { distrust: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' },
    'an intermediate certificate is missing',
    'fullchain.pem',
  ],
  [
    'that is refused for another reason',
    { distrust: 'CERT_REVOKED' },
    'is not trusted (CERT_REVOKED)',
    'fullchain.pem',
  ],
])('refuses a certificate %s', (_, given, detail, advice) => {
  expect(judge(given)).toMatchObject({
    result: 'failed',
    detail: expect.stringContaining(detail),
    advice: expect.stringContaining(advice),
  });
});

it('names each fault once, although the chain is refused for the same reason', () => {
  const expired = judge({ to: inDays(-1), distrust: 'CERT_HAS_EXPIRED' });
  expect(expired.detail).not.toContain(';');
  const both = judge({ to: inDays(-1), host: 'example.com', distrust: 'CERT_HAS_EXPIRED' });
  expect(both.detail).toMatch(
    /^the certificate expired [^;]*; the certificate is for another host/,
  );
  expect(judge({ to: inDays(-1), distrust: 'DEPTH_ZERO_SELF_SIGNED_CERT' }).detail).toMatch(
    /^the certificate expired [^;]*; the certificate is self-signed/,
  );
});
