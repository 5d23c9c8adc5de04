import { HoldBack } from './hold-back.ts';

/** One of a loop that is never busy. */
export function holdingNothing(): HoldBack {
  return new HoldBack({
    now: () => 0,
    busyShare: () => 0,
    after() {
      throw new Error('It holds nothing');
    },
    afterTurn: () => undefined,
  });
}
