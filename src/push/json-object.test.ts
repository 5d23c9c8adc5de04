import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { isGiven, readJsonObject, readJsonObjectText, withoutNulls } from './json-object.ts';

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

  it('gives an object or nothing, whatever comes', () => {
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

it('takes null for absent, and nothing else', () => {
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
