import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { comingsWhileInside } from '../subscribers.ts';
import { deedAt } from './member-changes.ts';

it('lets each member join and leave in turn, with the numbers that belong together', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 30 }),
      fc.integer({ min: 1, max: 500 }),
      (channels, events) => {
        const stay = comingsWhileInside(channels);
        const wandererOf = (turn: number) => ((turn % channels) + channels) % channels;
        /** The number of the member inside, by channel. */
        const inside = new Map<number, number>();
        for (let turn = -stay; turn < 0; turn += 1) inside.set(wandererOf(turn), 2 * turn);
        expect(inside.size).toBe(stay);

        for (let index = 0; index < events; index += 1) {
          const { turn, isComing } = deedAt(index, channels);
          const roamer = wandererOf(turn);
          expect(inside.has(roamer)).toBe(!isComing);
          if (isComing) inside.set(roamer, index);
          else {
            expect(inside.get(roamer)).toBe(index - (2 * stay + 1));
            inside.delete(roamer);
          }
        }
      },
    ),
  );
});
