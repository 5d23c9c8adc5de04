import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { platforms } from '../model/device.ts';
import { adviceOn, isKnownReason } from './advice.ts';
import { apnsReasons } from './apns-reasons.ts';
import { connectionReasons } from './connection-reasons.ts';
import { fcmReasons } from './fcm-reasons.ts';
import type { ReasonMeaning } from './reason-meaning.ts';
import { serverReasons } from './server-reasons.ts';
import { webReasons } from './web-reasons.ts';

const tables = { apnsReasons, fcmReasons, webReasons, connectionReasons, serverReasons };

describe('the tables of reasons', () => {
  it.each(Object.entries(tables))('%s reads like sentences', (_, table) => {
    for (const [reason, meaning] of Object.entries<ReasonMeaning>(table)) {
      for (const { why, advice } of [meaning, meaning.kept ?? {}, meaning.removed ?? {}]) {
        // It can follow "because", and its user adds the full stop.
        if (why !== undefined)
          expect([reason, why]).toEqual([reason, expect.stringMatching(/[^.?!]$/)]);
        if (advice !== undefined)
          expect([reason, advice]).toEqual([reason, expect.stringMatching(/^[A-Z`].*[.?]$/)]);
      }
    }
  });

  it('explain no reason twice for one platform', () => {
    const shared = [...Object.keys(connectionReasons), ...Object.keys(serverReasons)];
    for (const table of [apnsReasons, fcmReasons, webReasons]) {
      const all = [...shared, ...Object.keys(table)];
      expect(all.filter((reason, at) => all.indexOf(reason) !== at)).toEqual([]);
    }
  });
});

describe('adviceOn', () => {
  it('explains why, with the reason code and the text of the gateway', () => {
    expect(adviceOn({ platform: 'web', reason: 'http-403', words: 'invalid JWT' })).toEqual({
      why: 'the push service does not accept the VAPID credential: the browser subscribed with another key, or the signature is wrong (http-403). The gateway said: "invalid JWT"',
      advice: expect.stringContaining('web.vapid') as unknown as string,
    });
  });

  it('quotes the gateway if the reason is unknown', () => {
    expect(adviceOn({ platform: 'apns', reason: 'TeapotToken', words: 'short and stout' })).toEqual(
      {
        why: 'the gateway gave a reason that this server does not know (TeapotToken). The gateway said: "short and stout"',
        advice: expect.stringContaining('Apple') as unknown as string,
      },
    );
    expect(adviceOn({ platform: 'web', reason: '', words: '' }).why).toBe(
      'the gateway gave a reason that this server does not know',
    );
  });

  it('depends on whether the device was kept or removed', () => {
    const given = { platform: 'apns', reason: 'BadDeviceToken', words: '' } as const;
    expect(adviceOn({ ...given, device: 'kept' }).why).toContain('the device was kept');
    expect(adviceOn({ ...given, device: 'removed' }).why).not.toContain('kept');
    expect(adviceOn({ ...given, device: 'kept' }).advice).toContain('apns.environment');
    const invalid = { platform: 'fcm', reason: 'INVALID_ARGUMENT', words: '' } as const;
    expect(adviceOn({ ...invalid, device: 'removed' }).why).toContain('token is not valid');
  });

  it('explains every HTTP status', () => {
    for (const platform of platforms) {
      for (let status = 100; status < 600; status++) {
        expect(isKnownReason(platform, `http-${status}`)).toBe(true);
      }
      for (const reason of ['http-', 'http-20', 'http-4000', 'HTTP-404']) {
        expect(isKnownReason(platform, reason)).toBe(false);
      }
    }
    expect(adviceOn({ platform: 'web', reason: 'http-418', words: '' }).advice).not.toContain(
      'web.origin',
    );
  });

  it('does not quote what it says itself', () => {
    const given = { platform: 'fcm', reason: 'no-gateway', words: 'no credentials' } as const;
    const { why, advice } = adviceOn(given);
    expect(why).toEndWith('(no-gateway)');
    expect(advice).toStartWith('Configure `fcm` of the instance');
  });

  it('explains any reason', () => {
    const reason = fc.oneof(
      fc.constantFrom('constructor', '__proto__', 'toString', 'http-', 'access-token-'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.constantFrom(...platforms), reason, fc.string(), (platform, reason, words) => {
        const { why, advice } = adviceOn({ platform, reason, words });
        expect(why).toContain(reason);
        expect(advice === undefined || advice.length > 10).toBe(true);
      }),
    );
  });
});
