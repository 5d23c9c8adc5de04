import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { PushRefusal } from '../refusal.ts';
import { readMetadata, readMetadataAt } from './metadata.ts';

const names = ['sdkVersion', 'iosVersion', 'macosVersion', 'androidVersion'];

describe('the metadata of a device', () => {
  it('keeps documented fields', () => {
    const metadata = Object.fromEntries(names.map((name, index) => [name, `1.${index}`]));
    expect(readMetadata({ ...metadata, other: 'x', __proto: 1 })).toEqual(metadata);
    expect(readMetadata({})).toEqual({});
    expect(readMetadata({ sdkVersion: 'x'.repeat(100) })).toEqual({ sdkVersion: 'x'.repeat(100) });
  });

  it.each(names)('need not have %s', (name) => {
    expect(readMetadata({ [name]: null })).toEqual({});
  });

  it.each(names)('must have text as %s', (name) => {
    for (const value of [1, true, {}, ['1'], 'x'.repeat(101), '\u0000', '\ud800']) {
      const why = 'must be a string of at most 100 characters';
      expect(readMetadata({ [name]: value })).toEqual(
        new PushRefusal('bad-device-request', `\`${name}\`: ${why}`),
      );
      expect(readMetadataAt({ [name]: value }, 'metadata.')).toEqual(
        new PushRefusal('bad-device-request', `\`metadata.${name}\`: ${why}`),
      );
    }
  });

  it('is read or refused, for any input', () => {
    const fields = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), fc.anything());
    fc.assert(
      fc.property(fields, (body) => {
        const read = readMetadata(body);
        if (read instanceof PushRefusal) return;
        for (const [name, value] of Object.entries(read)) {
          expect(names).toContain(name);
          expect(value).toBeString();
        }
      }),
    );
  });
});
