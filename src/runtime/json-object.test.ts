import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import {
  hasMoreValues,
  isGiven,
  readJsonObject,
  readJsonObjectText,
  withoutNulls,
} from './json-object.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('a body that must be a JSON object', () => {
  it('is read', () => {
    expect(readJsonObject(bytes('{"a":[1,{"b":null}]}'))).toEqual({ a: [1, { b: null }] });
    expect(readJsonObject(bytes(' {} '))).toEqual({});
  });

  it('keeps its text, but for a byte order mark', () => {
    expect(readJsonObjectText(bytes('{"a": 1.0}'))?.text).toBe('{"a": 1.0}');
    expect(readJsonObjectText(bytes('\ufeff{"a":1}'))).toEqual({
      object: { a: 1 },
      text: '{"a":1}',
    });
  });

  it('may have fields called like those of every object', () => {
    const object = readJsonObject(bytes('{"__proto__":{"a":1},"constructor":2}'));

    expect(Object.keys(object ?? {})).toEqual(['__proto__', 'constructor']);
    expect(object?.['a']).toBeUndefined();
  });

  it.each(['', ' ', 'null', '[]', '[{}]', '"{}"', '1', 'true', '{', '{}{}', "{'a':1}", '{"a":1,}'])(
    'is not %j',
    (text) => {
      expect(readJsonObject(bytes(text))).toBeUndefined();
    },
  );

  it('must be UTF-8', () => {
    const body = bytes('{"a":"?"}');
    body[6] = 0xff;
    expect(readJsonObject(body)).toBeUndefined();
    // A surrogate in UTF-8's own manner of writing.
    expect(readJsonObject(Buffer.from('7b2261223a22eda080227d', 'hex'))).toBeUndefined();
    expect(readJsonObject(bytes('{"a":"\ufffd"}'))).toEqual({ a: '\ufffd' });
  });

  it('may nest as deep as its size lets it, without an error', () => {
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(['object', 'undefined']).toContain(typeof readJsonObject(bytes(deep)));
    expect(readJsonObject(bytes(`{"a":${'['.repeat(100_000)}`))).toBeUndefined();
  });

  it('returns an object or nothing, for any input', () => {
    const bodies = fc.oneof(
      fc.uint8Array(),
      fc.json().map(bytes),
      fc.string({ unit: fc.constantFrom(...'{}[]":,a1\\') }).map(bytes),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        const object = readJsonObject(body);

        expect(object === undefined || Object.getPrototypeOf(object) === Object.prototype).toBe(
          true,
        );
        // One bad body leaves nothing behind for the next.
        expect(readJsonObject(bytes('{"a":1}'))).toEqual({ a: 1 });
      }),
    );
  });
});

it('treats null as absent, and nothing else', () => {
  expect([undefined, null, false, 0, '', {}].map(isGiven)).toEqual([
    false,
    false,
    true,
    true,
    true,
    true,
  ]);
  expect(withoutNulls({ a: null, b: false, c: undefined })).toEqual({ b: false, c: undefined });
  const whole = { a: 1 };
  expect(withoutNulls(whole)).toBe(whole);
});

describe('the number of values in JSON', () => {
  /** Values and names; empty arrays and objects twice. */
  function count(value: unknown): number {
    if (typeof value !== 'object' || value === null) return 1;
    const inside = Array.isArray(value) ? value : Object.entries(value).flat();
    return inside.length === 0 ? 2 : inside.reduce<number>((sum, one) => sum + count(one), 1);
  }

  it('is counted without parsing it, whatever its texts contain', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\\"', ',', ':', '[', '{"a":1}'));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(null, true, 0, -1.5e3),
        text,
        fc.array(tie('value')),
        fc.dictionary(text, tie('value')),
      ),
    }));
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2), (given, indent) => {
        const body = Buffer.from(JSON.stringify(given, null, indent));
        const values = count(given);
        expect([hasMoreValues(body, values), hasMoreValues(body, values - 1)]).toEqual([
          false,
          values > 1,
        ]);
      }),
    );
  });

  it('is counted without an error, for any bytes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 100 }),
        (bytes) => typeof hasMoreValues(bytes, 5) === 'boolean',
      ),
    );
  });
});
