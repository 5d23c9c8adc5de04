import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { EVENT_NAME, eventData, SequenceReader } from './bench-event.ts';
import type { KernelSockets } from './kernel-sockets.ts';
import { LastRead } from './last-read.ts';
import { type Audience, Subscriber } from './subscriber.ts';

const app = { host: '127.0.0.1', port: 1, appId: '1', key: 'key', secret: 'secret' };

/** A text frame of a server, shorter than 64 KiB. */
function frame(text: string): Buffer {
  const { length } = text;
  const header = length < 126 ? [0x81, length] : [0x81, 126, length >> 8, length & 255];
  return Buffer.concat([Uint8Array.from(header), Buffer.from(text)]);
}

function eventFrame(sequence: number): Buffer {
  const data = eventData(sequence, 200);
  return frame(JSON.stringify({ event: EVENT_NAME, channel: 'news', data }));
}

const ONE = eventFrame(0).length;

it('reports each event once and in order, wherever the reads of alternating connections are cut', () => {
  const error = frame(JSON.stringify({ event: 'pusher:error', data: {} }));
  const lengths = fc.array(
    fc.constantFrom(10, ONE, 5 * ONE - 10, 5 * ONE, 5 * ONE + 10, 10 * ONE),
    {
      maxLength: 4,
    },
  );
  const crowd = fc.array(lengths, { minLength: 2, maxLength: 3 });
  // Most often all are sent in the same pieces.
  const crowds = fc.oneof(
    crowd,
    lengths.map((same) => [same, same, same]),
  );
  fc.assert(
    fc.property(crowds, fc.boolean(), (all, isScolded) => {
      let now = 0;
      const received: number[][] = all.map(() => []);
      let scoldings = 0;
      const audience: Audience = {
        sequences: new SequenceReader(),
        lastRead: new LastRead(),
        subscribed: () => undefined,
        read: () => undefined,
        arrived: (sequence) => void received[now]?.push(sequence),
        scolded: () => void scoldings++,
        lost: () => undefined,
      };
      // Nothing is asked of the kernel but to take what is sent.
      const sockets = { connect: () => 1, send: () => undefined } as unknown as KernelSockets;
      const sequences = Array.from({ length: 60 }, (_, sequence) => sequence);
      const frames = sequences.map(eventFrame);
      const bytes = Buffer.concat(isScolded ? frames.toSpliced(7, 0, error) : frames);
      const answer = Buffer.from('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      const subscribers = all.map((cuts) => {
        const seat = { channel: 'news', userId: undefined };
        const subscriber = new Subscriber(audience, sockets, app, seat);
        subscriber.received(answer, answer.length);
        return { subscriber, lengths: [...cuts, bytes.length], at: 0 };
      });
      for (let turn = 0; turn < 5; turn++) {
        for (const [index, one] of subscribers.entries()) {
          const read = Buffer.from(bytes.subarray(one.at, one.at + (one.lengths[turn] ?? 0)));
          now = index;
          if (read.length > 0) one.subscriber.received(read, read.length);
          one.at += read.length;
        }
      }
      expect(received).toEqual(all.map(() => sequences));
      expect(scoldings).toBe(isScolded ? all.length : 0);
    }),
    { numRuns: 300 },
  );
});
