import { expect, it } from 'bun:test';
import { Random } from '../../../testing/random.ts';
import { didYouMean, nearest } from './nearest.ts';

it.each([
  ['prot', 'port'],
  ['Port', 'port'],
  ['hots', 'host'],
  ['maxConections', 'maxConnections'],
  ['max_connections', 'maxConnections'],
  ['', undefined],
  ['apple', undefined],
])('reads %j as %p', (name, meant) => {
  expect(nearest(name, ['host', 'port', 'maxConnections'])).toBe(meant);
});

it('suggests a name only where one is close', () => {
  expect(didYouMean('prot', ['port'])).toBe(', did you mean "port"?');
  expect(didYouMean('other', ['port'])).toBe('');
});

/** The distance of two words, by the plain table of all cells. */
function plainDistance(from: string, to: string): number {
  const table = Array.from({ length: from.length + 1 }, (_, row) =>
    Array.from({ length: to.length + 1 }, (__, column) => (row === 0 ? column : row)),
  );
  const cell = (row: number, column: number) => table[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row++) {
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const line = table[row] ?? [];
      line[column] = Math.min(
        cell(row - 1, column) + 1,
        cell(row, column - 1) + 1,
        cell(row - 1, column - 1) + (isSame ? 0 : 1),
        isSwapped ? cell(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return cell(from.length, to.length);
}

it('accepts exactly the names that are close enough', () => {
  const random = new Random(7);
  const name = () =>
    Array.from({ length: random.between(0, 14) }, () => random.pick(['a', 'b', 'c'])).join('');
  for (let round = 0; round < 3_000; round++) {
    const [given, known] = [name(), name()];
    const isClose = plainDistance(given, known) <= Math.min(3, Math.ceil(known.length / 4));
    expect([given, known, nearest(given, [known])]).toEqual([
      given,
      known,
      isClose ? known : undefined,
    ]);
  }
});
