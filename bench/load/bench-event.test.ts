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

  reader.learn('bench', first.toString());

  expect(reader.read(first, 0, first.length)).toBe(7);
  expect(reader.read(second, 0, second.length)).toBe(12_345_678);
  expect(reader.read(second, 0, second.length - 1)).toBe(-1);
  expect(reader.read(Buffer.alloc(first.length, 'x'), 0, first.length)).toBe(-1);
});

it('reads the number of a member from its join and, raised, from its departure', () => {
  const reader = new SequenceReader(11);
  const memberEvent = (event: string, userId: string) =>
    JSON.stringify({ event, channel: 'presence-a', data: JSON.stringify({ user_id: userId }) });
  const read = (text: string) => reader.read(Buffer.from(text), 0, text.length);
  const coming = (userId: string) => memberEvent('pusher_internal:member_added', userId);
  const going = (userId: string) => memberEvent('pusher_internal:member_removed', userId);

  reader.learn('pusher_internal:member_added', coming('seat-1'));
  expect(read(coming('seat-1'))).toBe(-1);

  reader.learn('pusher_internal:member_added', coming('00000040'));
  reader.learn('pusher_internal:member_removed', going('00000040'));
  expect(read(coming('00000042'))).toBe(42);
  expect(read(going('00000042'))).toBe(53);
  // As long as a number, and none.
  expect(read(coming('seat-100'))).toBe(-1);
});

it('learns nothing from what is not an event of the benchmark', () => {
  const reader = new SequenceReader();
  const count =
    '{"event":"pusher_internal:subscription_count","channel":"a","data":"{"seq":"12345678"}"}';
  reader.learn('pusher_internal:subscription_count', count);
  expect(reader.read(Buffer.from(count), 0, count.length)).toBe(-1);
});
