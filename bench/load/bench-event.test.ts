import { expect, it } from 'bun:test';
import { eventData, SequenceReader } from './bench-event.ts';

const frameOf = (sequence: number) =>
  Buffer.from(JSON.stringify({ event: 'bench', channel: 'a', data: eventData(sequence, 200) }));

it('builds data of the length that was asked for', () => {
  expect(eventData(1, 200)).toHaveLength(200);
  expect(JSON.parse(eventData(42, 200)).seq).toBe('00000042');
});

it('reads the numbers of events once it has seen one, and of nothing else', () => {
  const reader = new SequenceReader();
  const [first, second] = [frameOf(7), frameOf(12_345_678)];
  expect(reader.read(first, 0, first.length)).toBe(-1);

  reader.learn(first.toString());

  expect(reader.read(first, 0, first.length)).toBe(7);
  expect(reader.read(second, 0, second.length)).toBe(12_345_678);
  expect(reader.read(second, 0, second.length - 1)).toBe(-1);
  expect(reader.read(Buffer.alloc(first.length, 'x'), 0, first.length)).toBe(-1);
});
