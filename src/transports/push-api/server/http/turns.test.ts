import { expect, it } from 'bun:test';
import { AddressTurns } from './turns.ts';

/** One that takes a turn as often as it can, and notes its name. */
class Greedy {
  turns: AddressTurns;
  name: string;
  left: number;
  seen: string[];

  constructor(turns: AddressTurns, seen: string[], name: string, left: number) {
    this.turns = turns;
    this.seen = seen;
    this.name = name;
    this.left = left;
  }

  goOn(): void {
    while (this.left > 0 && this.turns.take(this.name.charAt(0), this)) {
      this.left--;
      this.seen.push(this.name);
    }
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('gives 32 turns in each turn of the loop, one address after the other, and one of an address after the other', async () => {
  const turns = new AddressTurns();
  const seen: string[] = [];
  const some = (name: string, left: number) => new Greedy(turns, seen, name, left).goOn();
  some('a1', 40);
  expect(seen).toHaveLength(32);
  some('a2', 3);
  some('b1', 2);
  expect(seen).toHaveLength(32);
  await nextTurn();
  expect(seen.slice(32, 41)).toEqual(['a1', 'b1', 'a2', 'b1', 'a1', 'a2', 'a1', 'a2', 'a1']);
  await nextTurn();
  expect(seen).toHaveLength(45);
});

it('forgets who leaves', async () => {
  const turns = new AddressTurns();
  const seen: string[] = [];
  const many = new Greedy(turns, seen, 'a', 100);
  const gone = new Greedy(turns, seen, 'b', 1);
  many.goOn();
  gone.goOn();
  turns.leave('b', gone);
  turns.leave('b', gone);
  await nextTurn();
  await nextTurn();
  expect(seen).not.toContain('b');
});
