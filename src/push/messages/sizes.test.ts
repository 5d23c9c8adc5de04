import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { readPayloads } from '../payloads/payloads.ts';
import { FieldFault } from '../refusal.ts';
import { apnsMessage } from './apns-message.ts';
import { declarativeMessage } from './declarative-message.ts';
import { fcmMessage, fcmMessageBytes } from './fcm-message.ts';
import { right, tracking } from './messages.fixture.ts';
import { findOversize } from './sizes.ts';
import { webMessage } from './web-message.ts';

const LARGE = 10_000;

type Fill = (text: string) => Record<string, unknown>;

const fills: Readonly<Record<'apns' | 'fcm' | 'web', Fill>> = {
  apns: (text) => ({ apns: { aps: { alert: text } } }),
  fcm: (text) => ({ fcm: { notification: { title: text } } }),
  web: (text) => ({ web: { notification: { title: text } } }),
};

function sizeOf(platform: 'apns' | 'fcm' | 'web', body: Record<string, unknown>): number {
  const { apns, fcm, web } = right(readPayloads(body));
  switch (platform) {
    case 'apns':
      return apns === undefined
        ? 0
        : Buffer.byteLength(
            apnsMessage(apns, { ...tracking, acceptedAtMs: Date.UTC(2026, 0) }).body,
          );
    case 'fcm':
      return fcm === undefined ? 0 : fcmMessageBytes(fcmMessage(fcm, tracking).message);
    case 'web':
      return web === undefined ? 0 : Buffer.byteLength(webMessage(web, tracking));
    default:
      return platform satisfies never;
  }
}

const oversize = (body: Record<string, unknown>, bodyBytes: number) =>
  findOversize(right(readPayloads(body)), tracking, bodyBytes);

describe('a message', () => {
  it.each([
    ['apns', 4096],
    ['fcm', 4096],
    ['web', 3993],
  ] as const)('of %s has at most %d bytes, including what the server adds', (platform, most) => {
    const fill = fills[platform];
    // Two bytes each: bytes count, not characters.
    const [room, odd] = [
      most - sizeOf(platform, fill('')),
      (most - sizeOf(platform, fill(''))) % 2,
    ];
    const full = fill('é'.repeat((room - odd) / 2) + 'x'.repeat(odd));
    const tooFull = fill(`${'é'.repeat((room - odd) / 2)}${'x'.repeat(odd)}x`);
    expect(sizeOf(platform, full)).toBe(most);
    expect(oversize(full, LARGE)).toBeUndefined();
    expect(oversize(tooFull, LARGE)).toEqual(
      new FieldFault(
        platform,
        `the message has ${most + 1} bytes, including what the server adds: the limit is ${most}`,
      ),
    );
  });

  it.each([
    ['apns', { aps: {}, data: {} }],
    ['fcm', { data: {} }],
    ['fcm', { apns: {} }],
    ['fcm', { webpush: {} }],
    ['web', { data: {} }],
  ] as const)('of %s must not nest too deep: %j', (platform, payload) => {
    const deep = (levels: number) => {
      const nested: unknown = JSON.parse('['.repeat(levels) + ']'.repeat(levels));
      // FCM has fixed fields around what is the app's own.
      const around = {
        aps: {},
        apns: { payload: { nested } },
        webpush: { notification: { nested } },
      };
      const filled = Object.entries(payload).map(([name]) => [
        name,
        around[name as keyof typeof around] ?? { nested },
      ]);
      return { [platform]: Object.fromEntries(filled) };
    };
    const most = platform === 'web' ? 3993 : 4096;
    for (const levels of [2100, 100_000]) {
      expect(oversize(deep(levels), LARGE)).toEqual(
        new FieldFault(platform, `nests deeper than any message of ${most} bytes`),
      );
    }
    expect(oversize(deep(1000), LARGE)).toBeUndefined();
  });

  it('for Safari is measured in its declarative form, which has the data twice', () => {
    const most = 3993;
    const bytesOf = (body: Record<string, unknown>) => {
      const { web } = right(readPayloads(body));
      return web === undefined ? 0 : Buffer.byteLength(declarativeMessage(web, tracking));
    };
    const fill = (text: string, declarative?: boolean) => ({
      web: { notification: { title: text }, data: { a: text }, declarative },
    });
    const length = Math.floor((most - bytesOf(fill(''))) / 3);
    const [fits, tooLarge] = ['x'.repeat(length), 'x'.repeat(length + 1)];
    const fault = (text: string, declarative?: boolean, instance = false) =>
      findOversize(
        right(readPayloads(fill(text, declarative))),
        { ...tracking, declarative: instance },
        LARGE,
      );
    expect(fault(fits, true)).toBeUndefined();
    expect(fault(tooLarge, true)).toMatchObject({ field: 'web' });
    expect(fault(tooLarge, undefined, true)).toMatchObject({ field: 'web' });
    expect(fault(tooLarge, false, true)).toBeUndefined();
    expect(fault(tooLarge)).toBeUndefined();
    // A small body: each button gets the link.
    const actions = Array.from({ length: 100 }, () => ({}));
    const web = { notification: { deep_link: '/'.padEnd(300, 'x'), actions }, declarative: true };
    expect(oversize({ web }, 698)).toMatchObject({ field: 'web' });
  });

  it('cannot be too large if the body is small', () => {
    const numbers = fc.constantFrom(
      '1e20',
      '-1e20',
      '1e-6',
      '0.1',
      '1E+20',
      '"\\ud800"',
      '"\\u0001"',
    );
    const lists = fc
      .array(numbers, { minLength: 100, maxLength: 170 })
      .map((entries) => `[${entries.join(',')}]`.slice(0, 680).replace(/,[^,]*$/, ']'));
    const bodies = fc
      .tuple(fc.constantFrom('apns', 'fcm', 'web'), lists)
      .map(
        ([platform, list]) =>
          `{"${platform}":{"data":{"x":${list.endsWith(']') ? list : '[]'}}${platform === 'apns' ? ',"aps":{}' : ''}}}`,
      );
    fc.assert(
      fc.property(bodies, (text) => {
        const body: Record<string, unknown> = JSON.parse(text);
        if (text.length <= 698) expect(oversize(body, LARGE)).toBeUndefined();
      }),
    );
  });

  it('is measured if the body is not small', () => {
    const body = fills.web('x'.repeat(4000));
    expect(oversize(body, 698)).toBeUndefined();
    expect(oversize(body, 699)).toBeInstanceOf(FieldFault);
  });
});
