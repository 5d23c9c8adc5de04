import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { platforms } from './device.ts';
import { newDeviceId, readDeviceId } from './device-id.ts';

const uuid = '0b8e7c9c-1d2e-4f30-8a4b-5c6d7e8f9a0b';

describe('a device id', () => {
  it.each(platforms)('of %s is read in any case', (platform) => {
    expect<unknown>(readDeviceId(`${platform}-${uuid}`, platform)).toBe(`${platform}-${uuid}`);
    expect<unknown>(readDeviceId(`${platform}-${uuid.toUpperCase()}`, platform)).toBe(
      `${platform}-${uuid}`,
    );
  });

  it.each([
    '',
    'web-',
    uuid,
    `apns-${uuid}`,
    `fcm-${uuid}`,
    `WEB-${uuid}`,
    `web${uuid}`,
    `web_${uuid}`,
    ` web-${uuid}`,
    `web-${uuid} `,
    `web-${uuid}\n`,
    `web-web-${uuid}`,
    `web-${uuid.replaceAll('-', '')}`,
    `web-${uuid.slice(1)}`,
    `web-${uuid}0`,
    `web-g${uuid.slice(1)}`,
    `web-{${uuid}}`,
    `web-0b8e7c9-c1d2e-4f30-8a4b-5c6d7e8f9a0b`,
    // Its lower case is an ASCII k.
    `web-\u212a${uuid.slice(1)}`,
  ])('of the web is not %j', (text) => {
    expect(readDeviceId(text, 'web')).toBeUndefined();
  });

  it('that is generated can be read and is unique', () => {
    for (const platform of platforms) {
      const [first, second] = [newDeviceId(platform), newDeviceId(platform)];
      expect(readDeviceId(first, platform)).toBe(first);
      expect(first).not.toBe(second);
    }
  });

  it('is read only in its canonical form, for any input', () => {
    const near = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.string({ unit: fc.constantFrom(...'0aF-g'), minLength: 36, maxLength: 36 }),
      fc.uuid(),
    );
    fc.assert(
      fc.property(fc.constantFrom('', 'web-', 'fcm-'), near, (prefix, rest) => {
        const id = readDeviceId(prefix + rest, 'web');

        const uuidForm = /^web-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
        expect<unknown>(id).toBe(
          uuidForm.test(prefix + rest) ? (prefix + rest).toLowerCase() : undefined,
        );
      }),
    );
  });
});
