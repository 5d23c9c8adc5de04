import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { PushRefusal } from '../refusal.ts';
import { fingerprintOf, IDEMPOTENCY_MS, readIdempotencyKey } from './idempotency.ts';

describe('an idempotency key', () => {
  it('is optional', () => {
    expect(readIdempotencyKey(null)).toBeUndefined();
  });

  it.each(['k', '!~', '8f9a6e22-2483-49aa-8552-125f1a4c5781', 'x'.repeat(255)])(
    'may be %j',
    (key) => {
      expect(readIdempotencyKey(key)).toBe(key);
    },
  );

  it.each(['', ' ', 'a b', 'x'.repeat(256), 'é', 'a\n', 'a\u007f'])('may not be %j', (key) => {
    const refusal = readIdempotencyKey(key);
    expect(refusal).toEqual(
      new PushRefusal(
        'bad-request',
        'The header Idempotency-Key must have 1 to 255 visible ASCII characters',
      ),
    );
  });

  it('is read or refused, for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (key) => {
        const read = readIdempotencyKey(key);
        expect(read instanceof PushRefusal || read === key).toBe(true);
      }),
    );
  });

  it('is kept for a day', () => {
    expect(IDEMPOTENCY_MS).toBe(86_400_000);
  });
});

describe('a fingerprint', () => {
  const body = (text: string) => new TextEncoder().encode(text);

  it('is equal only for equal requests', () => {
    const one = fingerprintOf('interests', body('{"a":1}'));
    expect(one).toMatch(/^[0-9a-f]{64}$/);
    expect(fingerprintOf('interests', body('{"a":1}'))).toBe(one);
    expect(fingerprintOf('users', body('{"a":1}'))).not.toBe(one);
    expect(fingerprintOf('interests', body('{"a":1} '))).not.toBe(one);
  });
});
