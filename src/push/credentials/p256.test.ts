import { describe, expect, it } from 'bun:test';
import { createECDH, createPublicKey } from 'node:crypto';
import fc from 'fast-check';
import { isP256Point } from './p256.ts';

const P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;

/** The browser's key in RFC 8291, appendix A. */
const known = Buffer.from(
  'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  'base64url',
);

function pointOf(x: bigint, y: bigint): Uint8Array {
  return Buffer.from(
    `04${x.toString(16).padStart(64, '0')}${y.toString(16).padStart(64, '0')}`,
    'hex',
  );
}

/** Whether the runtime's own cryptography accepts the point. */
function isImported(point: Uint8Array): boolean {
  const coordinate = (from: number) =>
    Buffer.from(point.slice(from, from + 32)).toString('base64url');
  try {
    const jwk = { kty: 'EC', crv: 'P-256', x: coordinate(1), y: coordinate(33) };
    return createPublicKey({ format: 'jwk', key: jwk }).type === 'public';
  } catch {
    // It throws for an invalid point.
    return false;
  }
}

describe('a point of P-256', () => {
  it('is any public key, at any offset of its buffer', () => {
    expect(isP256Point(known)).toBe(true);
    for (let times = 0; times < 20; times++) {
      const keys = createECDH('prime256v1');
      expect(isP256Point(new Uint8Array(keys.generateKeys()))).toBe(true);
    }
    expect(isP256Point(Buffer.concat([Buffer.alloc(3), known]).subarray(3))).toBe(true);
  });

  it('lies on the curve', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 64 }),
        fc.integer({ min: 1, max: 255 }),
        (at, change) => {
          const other = new Uint8Array(known);
          other[at] = (other[at] ?? 0) ^ change;
          expect(isP256Point(other)).toBe(isImported(other));
        },
      ),
    );
    expect(isP256Point(pointOf(0n, 0n))).toBe(false);
  });

  it('has coordinates below the prime, so that its encoding is unique', () => {
    // x = 5 is on the curve; so is 5 + p, unless the range is checked.
    const y = 0x459243b9aa581806fe913bce99817ade11ca503c64d9a3c533415c083248fbccn;
    expect(isP256Point(pointOf(5n, y))).toBe(true);
    expect(isP256Point(pointOf(5n, P - y))).toBe(true);
    expect(isP256Point(pointOf(5n + P, y))).toBe(false);
  });

  it('is uncompressed', () => {
    for (const first of [0, 2, 3, 5, 6, 7]) {
      const other = new Uint8Array(known);
      other[0] = first;
      expect(isP256Point(other)).toBe(false);
    }
    expect(isP256Point(known.subarray(0, 64))).toBe(false);
    expect(isP256Point(known.subarray(0, 33))).toBe(false);
    expect(isP256Point(Buffer.concat([known, Buffer.alloc(1)]))).toBe(false);
    expect(isP256Point(new Uint8Array())).toBe(false);
  });
});
