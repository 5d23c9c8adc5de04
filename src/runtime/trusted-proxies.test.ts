import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { TrustedProxies } from './trusted-proxies.ts';

const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);

const clientOf = (peer: string, xForwardedFor?: string, forwarded?: string) =>
  proxies.clientOf(peer, { xForwardedFor, forwarded });

describe('the scheme that the client used', () => {
  const saysHttps = (peer: string, xForwardedProto?: string, forwarded?: string) =>
    proxies.saysHttps(peer, { xForwardedProto, forwarded });

  it('is known from a trusted proxy alone', () => {
    expect(saysHttps('10.0.0.1', 'https')).toBe(true);
    expect(saysHttps('10.0.0.1', undefined, 'for=1.2.3.4;proto=https')).toBe(true);
    expect(saysHttps('10.0.0.1', undefined, 'for=1.2.3.4; Proto="HTTPS"')).toBe(true);
    expect(saysHttps('11.0.0.1', 'https', 'proto=https')).toBe(false);
    expect(
      new TrustedProxies([]).saysHttps('10.0.0.1', { xForwardedProto: 'https', forwarded: '' }),
    ).toBe(false);
  });

  it('is what that proxy wrote, not what the client sent before', () => {
    expect(saysHttps('10.0.0.1', 'https, http')).toBe(false);
    expect(saysHttps('10.0.0.1', 'http,https')).toBe(true);
    expect(saysHttps('10.0.0.1', undefined, 'proto=https, for=1.2.3.4')).toBe(false);
    expect(saysHttps('10.0.0.1', undefined, 'proto=https, for=1.2.3.4;proto=http')).toBe(false);
  });

  it('is not known if the headers disagree, or name none', () => {
    expect(saysHttps('10.0.0.1', 'http', 'proto=https')).toBe(false);
    expect(saysHttps('10.0.0.1', 'https', 'proto=http')).toBe(false);
    expect(saysHttps('10.0.0.1', 'https', 'for=1.2.3.4')).toBe(true);
    for (const header of [undefined, '', 'wss', 'https://', 'httpshttps']) {
      expect(saysHttps('10.0.0.1', header)).toBe(false);
    }
  });
});

describe('the client behind a proxy', () => {
  it('is the sender itself if that is no trusted proxy, whatever its headers say', () => {
    expect(clientOf('203.0.113.9', '1.2.3.4')).toBe('203.0.113.9');
    expect(clientOf('203.0.113.9', undefined, 'for=1.2.3.4')).toBe('203.0.113.9');
    expect(clientOf('11.0.0.1', '1.2.3.4')).toBe('11.0.0.1');
  });

  it('is the last address that is no trusted proxy', () => {
    expect(clientOf('10.0.0.1', '1.2.3.4')).toBe('1.2.3.4');
    expect(clientOf('10.0.0.1', '6.6.6.6, 1.2.3.4, 192.0.2.7,10.1.1.1')).toBe('1.2.3.4');
    expect(clientOf('192.0.2.7', '1.2.3.4:5678')).toBe('1.2.3.4');
    expect(clientOf('fd00::1', '2001:DB8::0:1')).toBe('2001:db8::1');
    expect(clientOf('::ffff:10.0.0.1', '[2001:db8::1]:443')).toBe('2001:db8::1');
    expect(clientOf('10.0.0.1', '::ffff:1.2.3.4')).toBe('1.2.3.4');
  });

  it('is read from Forwarded as well', () => {
    expect(clientOf('10.0.0.1', undefined, 'for=1.2.3.4;proto=https;by=10.0.0.1')).toBe('1.2.3.4');
    expect(clientOf('10.0.0.1', undefined, 'for=6.6.6.6, For="[2001:db8::1]:47011"')).toBe(
      '2001:db8::1',
    );
    expect(clientOf('10.0.0.1', undefined, 'proto=https; for=1.2.3.4')).toBe('1.2.3.4');
  });

  it('is the proxy if the two headers disagree', () => {
    expect(clientOf('10.0.0.1', '1.2.3.4', 'for=6.6.6.6')).toBe('10.0.0.1');
    expect(clientOf('10.0.0.1', '1.2.3.4', 'for=1.2.3.4')).toBe('1.2.3.4');
  });

  it('is the proxy if that names no address', () => {
    for (const header of ['', 'unknown', '_hidden', '999.1.1.1', '1.2.3.4, ', '1.2.3.4, unknown']) {
      expect(clientOf('10.0.0.1', header)).toBe('10.0.0.1');
    }
    expect(clientOf('10.0.0.1', undefined, 'for=unknown')).toBe('10.0.0.1');
    expect(clientOf('10.0.0.1', undefined, 'by=10.0.0.1')).toBe('10.0.0.1');
    expect(clientOf('10.0.0.1', '10.2.2.2, 10.3.3.3')).toBe('10.0.0.1');
  });

  it('is the sender if no proxy is trusted', () => {
    const none = new TrustedProxies([]);
    expect(none.clientOf('10.0.0.1', { xForwardedFor: '1.2.3.4', forwarded: undefined })).toBe(
      '10.0.0.1',
    );
  });

  it('is what the peer of a Unix socket says, who stands for itself if it says nothing', () => {
    const ofListeners = TrustedProxies.ofListeners([]);
    const clientOf = (peer: string, xForwardedFor?: string) =>
      ofListeners.clientOf(peer, { xForwardedFor, forwarded: undefined });
    expect(clientOf('unix', '1.2.3.4')).toBe('1.2.3.4');
    expect(clientOf('unix')).toBe('unix');
    // Nobody can claim to be one, and an unknown peer is none.
    expect(clientOf('unix', 'unix')).toBe('unix');
    expect(clientOf('', '1.2.3.4')).toBe('');
    expect(clientOf('10.0.0.1', 'unix')).toBe('10.0.0.1');
    // Proxies that may name users are listed one by one.
    expect(new TrustedProxies(['10.0.0.1']).trusts('unix')).toBe(false);
    expect(new TrustedProxies(['unix']).trusts('unix')).toBe(true);
  });

  it('is found in any header without an error, in linear time', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(typeof clientOf('10.0.0.1', a, b)).toBe('string');
      }),
    );
    clientOf('10.0.0.1', '10.0.0.1,'.repeat(100_000));
    clientOf('10.0.0.1', undefined, ' '.repeat(100_000));
    clientOf('10.0.0.1', undefined, 'for="'.repeat(20_000));
  });
});

describe('the list of trusted proxies', () => {
  it.each([
    ['::ffff:10.0.0.0/104', '10.1.2.3', '11.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1', '10.0.0.2'],
    ['::ffff:a00:0/120', '10.0.0.9', '10.0.1.9'],
    ['::ffff:0:0/96', '1.2.3.4', '::1'],
  ])('may name IPv4 addresses as IPv6: %s', (range, inside, outside) => {
    const proxies = new TrustedProxies([range]);
    expect(proxies.trusts(inside)).toBe(true);
    expect(proxies.trusts(`::ffff:${inside}`)).toBe(true);
    expect(proxies.trusts(outside)).toBe(false);
  });

  it('refuses text that is no range', () => {
    for (const text of ['proxy.local', '10.0.0.0/33', '::/129', '10.0.0.0/8/8', '/8', '', '10/8']) {
      expect(() => new TrustedProxies([text])).toThrow();
    }
  });
});
