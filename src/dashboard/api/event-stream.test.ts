import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { EventStreamReader } from './event-stream.ts';

const TEXT =
  ': hello\nevent: batch\ndata: {"a":1}\n\ndata: one\r\ndata: two\r\n\r\nevent: end\ndata:x\n\n';
const EVENTS = [
  { name: 'batch', data: '{"a":1}' },
  { name: 'message', data: 'one\ntwo' },
  { name: 'end', data: 'x' },
];

it('reads the events of a stream', () => {
  expect(new EventStreamReader().push(TEXT)).toEqual(EVENTS);
});

it('reads the same events however the text is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: TEXT.length })), (cuts) => {
      const reader = new EventStreamReader();
      const places = [0, ...cuts.toSorted((a, b) => a - b), TEXT.length];
      const events = places
        .slice(1)
        .flatMap((end, index) => reader.push(TEXT.slice(places[index], end)));
      expect(events).toEqual(EVENTS);
    }),
  );
});

it('returns nothing of an event that has not ended', () => {
  expect(new EventStreamReader().push('event: batch\ndata: {}\n')).toEqual([]);
});
