import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { NIL_PUBLISH_ID, newPublishId, readPublishId } from './publish-id.ts';

const uuid = '0b8e7c9c-1d2e-4f30-8a4b-5c6d7e8f9a0b';

describe('a publish id', () => {
  it('is read in any case', () => {
    expect<unknown>(readPublishId(`pubid-${uuid}`)).toBe(`pubid-${uuid}`);
    expect<unknown>(readPublishId(`pubid-${uuid.toUpperCase()}`)).toBe(`pubid-${uuid}`);
  });

  it.each(['', uuid, `pubid-`, `pubid-x`, `PUBID-${uuid}`, `web-${uuid}`, `pubid-${uuid}0`])(
    'is not %j',
    (text) => {
      expect(readPublishId(text)).toBeUndefined();
    },
  );

  it('that is generated can be read and is unique', () => {
    const [first, second] = [newPublishId(Date.now()), newPublishId(Date.now())];
    expect(readPublishId(first)).toBe(first);
    expect(first).not.toBe(second);
    expect(first).toHaveLength(NIL_PUBLISH_ID.length);
  });

  it('begins with its time, so that later ids sort after earlier ones', () => {
    const nowMs = Date.UTC(2026, 0, 1);
    expect(newPublishId(nowMs) < newPublishId(nowMs + 1)).toBe(true);
    expect(newPublishId(nowMs)).toMatch(/^pubid-019b76da-a800-4[0-9a-f]{3}-[89ab]/);
  });

  it('is read or refused, for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect(readPublishId(text)).toBeUndefined();
        expect(readPublishId(`pubid-${text}`)).toBeUndefined();
      }),
    );
  });
});
