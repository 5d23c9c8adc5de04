import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { nameUuid } from './name-uuid.ts';

const SPACE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';

it('is a UUID of version 5 for any name', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.array(fc.string({ unit: anyCharacter })), (space, name) => {
      expect(nameUuid(space, name)).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
    }),
  );
});

it('is derived from the namespace and the name as in RFC 9562', () => {
  // Made with Python: uuid.uuid5(uuid.UUID(SPACE), '["a",1]').
  expect(nameUuid(SPACE, ['a', 1])).toBe('fda7d551-4353-5042-b597-31bc3b33e191');
});

it('is the same for the same name only', () => {
  const id = nameUuid(SPACE, ['a', 'b']);
  expect(nameUuid(SPACE, ['a', 'b'])).toBe(id);
  expect(nameUuid(SPACE.replace('6', '7'), ['a', 'b'])).not.toBe(id);
  expect(nameUuid(SPACE, ['ab'])).not.toBe(id);
  expect(nameUuid(SPACE, ['a,b'])).not.toBe(id);
});
