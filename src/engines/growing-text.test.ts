import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { GrowingText } from './growing-text.ts';

it('is all that was appended, read at any time', () => {
  const steps = fc.array(fc.tuple(fc.string({ maxLength: 3000 }), fc.boolean()));
  fc.assert(
    fc.property(steps, (plan) => {
      const text = new GrowingText();
      let all = '';
      for (const [piece, isRead] of plan) {
        text.append(piece);
        all += piece;
        expect(text.length).toBe(all.length);
        if (isRead) expect(text.toString()).toBe(all);
      }
      expect(text.toString()).toBe(all);
    }),
    { numRuns: 30 },
  );
});
