import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { PushServiceRules } from '../model/instance.ts';
import { readEndpoint } from './push-service.ts';

const strict: PushServiceRules = {
  allowedHosts: [
    'fcm.googleapis.com',
    '*.push.apple.com',
    'Push.Example.org:8443',
    '*.below.example:8443',
    '[::1]:9000',
    '[2001:db8::1]',
  ],
  allowPrivateAddresses: false,
};
const loose: PushServiceRules = { ...strict, allowPrivateAddresses: true };

const isAllowed = (endpoint: unknown, rules = strict) => readEndpoint(endpoint, rules).ok;

describe('the endpoint of a push service', () => {
  it('is normalised by the URL parser', () => {
    expect(readEndpoint('https://fcm.googleapis.com/fcm/send/a:b-c_d?e', strict)).toEqual({
      ok: true,
      endpoint: 'https://fcm.googleapis.com/fcm/send/a:b-c_d?e',
    });
    expect(readEndpoint('HTTPS://FCM.googleapis.com:443/x/../y', strict)).toEqual({
      ok: true,
      endpoint: 'https://fcm.googleapis.com/y',
    });
  });

  it.each([
    'https://fcm.googleapis.com/',
    'https://web.push.apple.com/x',
    'https://a.b.push.apple.com/x',
    'https://push.example.org:8443/x',
    'https://a.below.example:8443/x',
    'https://[::1]:9000/x',
    'https://[2001:db8:0::1]/x',
  ])('may be %s', (endpoint) => {
    expect(isAllowed(endpoint)).toBe(true);
    expect(isAllowed(endpoint, loose)).toBe(true);
  });

  it.each([
    'https://evil.example/',
    'https://xfcm.googleapis.com/',
    'https://x.fcm.googleapis.com/',
    'https://fcm.googleapis.com.evil.example/',
    'https://fcm.googleapis.com./',
    'https://fcm.googleapis.com%2eevil.example/',
    'https://push.apple.com/',
    'https://.push.apple.com/',
    'https://xpush.apple.com/',
    'https://push.apple.com.evil.example/',
    'https://push.example.org/',
    'https://push.example.org:8444/',
    'https://below.example:8443/',
    'https://a.below.example/',
    'https://[::1]/',
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://localhost/',
  ])('must be at an allowed host: %s', (endpoint) => {
    const why = 'is not at an allowed push service';
    expect(readEndpoint(endpoint, strict)).toEqual({ ok: false, why });
    expect(readEndpoint(endpoint, loose)).toEqual({ ok: false, why });
  });

  it.each(['https://fcm.googleapis.com:8080/', 'https://web.push.apple.com:444/'])(
    'must be at port 443 of a bare host, except on a developer’s machine: %s',
    (endpoint) => {
      expect(isAllowed(endpoint)).toBe(false);
      expect(isAllowed(endpoint, loose)).toBe(true);
    },
  );

  it('may be at every host if * is allowed, and says that the host is not named', () => {
    const open: PushServiceRules = { ...strict, allowedHosts: ['*', '*.push.apple.com'] };
    const endpoint = 'https://ntfy.example.org/upAbc?up=1';
    expect(readEndpoint(endpoint, open)).toEqual({
      ok: true,
      endpoint,
      openHost: 'ntfy.example.org',
    });
    expect(readEndpoint('https://web.push.apple.com/x', open)).toEqual({
      ok: true,
      endpoint: 'https://web.push.apple.com/x',
    });
    expect(readEndpoint('https://ntfy.example.org:8443/x', open)).toEqual({
      ok: false,
      why: 'must be at port 443',
    });
    expect(readEndpoint('http://ntfy.example.org/x', open)).toMatchObject({ ok: false });
    expect(readEndpoint(endpoint, strict)).toMatchObject({ ok: false });
  });

  it('must be https, except on a developer’s machine', () => {
    for (const endpoint of ['http://fcm.googleapis.com/', 'http://fcm.googleapis.com:443/']) {
      expect(readEndpoint(endpoint, strict)).toEqual({ ok: false, why: 'must be an https URL' });
      expect(isAllowed(endpoint, loose)).toBe(true);
    }
    expect(isAllowed('http://[::1]:9000/x', loose)).toBe(true);
    expect(isAllowed('http://push.example.org/', loose)).toBe(false);
    for (const scheme of ['ws', 'wss', 'ftp', 'file', 'javascript', 'gopher', 'data', 'x']) {
      expect(isAllowed(`${scheme}://fcm.googleapis.com/`, loose)).toBe(false);
    }
    const port80 = { allowedHosts: ['a.example:80', 'b.example:443'], allowPrivateAddresses: true };
    expect(isAllowed('http://a.example/', port80)).toBe(true);
    expect(isAllowed('https://a.example/', port80)).toBe(false);
    expect(isAllowed('https://b.example/', port80)).toBe(true);
  });

  it.each([
    'https://user@fcm.googleapis.com/',
    'https://:password@fcm.googleapis.com/',
    'https://fcm.googleapis.com/#x',
    'https://fcm.googleapis.com/#',
  ])('must have no user, password or fragment: %s', (endpoint) => {
    const why = 'must have no user, password or fragment';
    expect(readEndpoint(endpoint, strict)).toEqual({ ok: false, why });
  });

  it('must be a URL of at most 2048 characters, also when normalised', () => {
    const start = 'https://fcm.googleapis.com/';
    const why = 'must be a URL of at most 2048 characters';
    expect(isAllowed(start.padEnd(2048, 'x'))).toBe(true);
    expect(readEndpoint(start.padEnd(2049, 'x'), strict)).toEqual({ ok: false, why });
    expect(readEndpoint(start.padEnd(1500, 'é'), strict)).toEqual({ ok: false, why });
    expect(readEndpoint(`${'x/../'.repeat(500)}`, strict)).toEqual({ ok: false, why });
    for (const value of ['', 'x', 'fcm.googleapis.com', '//fcm.googleapis.com/', 'https://']) {
      expect(readEndpoint(value, strict)).toEqual({ ok: false, why });
    }
  });

  it.each([undefined, null, 7, {}, true])('is not %j', (value) => {
    expect(readEndpoint(value, strict)).toEqual({ ok: false, why: 'must be a string' });
  });

  it('is at an allowed host, for any input', () => {
    const near = fc.oneof(
      fc.webUrl({ withFragments: true, validSchemes: ['http', 'https'] }),
      fc
        .string({ unit: fc.constantFrom(...'a.:@/\\#?%[]-\t\0é'), maxLength: 12 })
        .map((text) => `https://${text}fcm.googleapis.com/`),
      fc
        .string({ unit: fc.constantFrom(...'a.:@/\\#?%[]-\t\0é'), maxLength: 12 })
        .map((text) => `https://fcm.googleapis.com${text}`),
      fc.anything(),
    );
    fc.assert(
      fc.property(near, (value) => {
        const read = readEndpoint(value, strict);
        if (read.ok) expect(read.endpoint).toStartWith('https://fcm.googleapis.com/');
      }),
    );
  });
});
