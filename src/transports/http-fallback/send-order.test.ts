import { expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { SendOrder } from './send-order.ts';

/** Source: HTTP transports, §8. */

function session(firstReceive: number | undefined = 10) {
  const time = new FakeTime();
  const taken: string[] = [];
  const order = new SendOrder<string>(time, (send) => void taken.push(send));
  order.receiving(firstReceive);
  return { time, order, taken };
}

it('accepts sends at once that come in order', () => {
  const { order, taken } = session();
  order.arrived(11, 'a');
  order.arrived(12, 'b');
  expect(taken).toEqual(['a', 'b']);
});

it('puts sends in order that overtook one another', () => {
  const { order, taken } = session();
  for (const [number, send] of [
    [13, 'c'],
    [12, 'b'],
    [14, 'd'],
  ] as const) {
    order.arrived(number, send);
  }
  expect(taken).toEqual([]);
  order.arrived(11, 'a');
  expect(taken).toEqual(['a', 'b', 'c', 'd']);
});

it('continues after 50 ms without a number that another object of the page has used', async () => {
  const { time, order, taken } = session();
  order.arrived(13, 'c');
  await time.advance(49);
  expect(taken).toEqual([]);
  await time.advance(1);
  expect(taken).toEqual(['c']);
  order.arrived(14, 'd');
  expect(taken).toEqual(['c', 'd']);
});

it('still accepts a send that comes later than that', async () => {
  const { time, order, taken } = session();
  order.arrived(12, 'b');
  await time.advance(50);
  order.arrived(11, 'a');
  expect(taken).toEqual(['b', 'a']);
});

it('counts the numbers of receive requests', () => {
  const { order, taken } = session();
  order.arrived(12, 'b');
  order.receiving(11);
  expect(taken).toEqual(['b']);
  order.receiving(13);
  order.arrived(14, 'c');
  expect(taken).toEqual(['b', 'c']);
});

it('drops a send that a browser has repeated', async () => {
  const { time, order, taken } = session();
  order.arrived(11, 'a');
  order.arrived(11, 'a');
  order.arrived(13, 'c');
  order.arrived(13, 'c');
  await time.advance(50);
  order.arrived(13, 'c');
  expect(taken).toEqual(['a', 'c']);
});

it('accepts sends without a number as they come', () => {
  const { order, taken } = session(undefined);
  order.arrived(undefined, 'a');
  order.arrived(7, 'b');
  expect(taken).toEqual(['a', 'b']);
});

it('holds no more than 64', () => {
  const { order, taken } = session();
  for (let number = 76; number >= 12; number--) order.arrived(number, String(number));
  expect(taken).toHaveLength(65);
  expect(taken[0]).toBe('12');
});

it('accepts nothing more once the session has ended', async () => {
  const { time, order, taken } = session();
  order.arrived(12, 'b');
  order.forget();
  await time.advance(50);
  expect(taken).toEqual([]);
});
