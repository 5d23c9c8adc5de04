import { afterEach, beforeEach, describe, expect, it, mock, spyOn } from 'bun:test';
import { settled } from '../../../testing/fake-time.ts';
import { shareLoopCounts } from './loop-counts.ts';
import { LoopLinks, linkLoops } from './loop-links.ts';
import type { LoopMessage } from './messages.ts';

const engine = (item: unknown): LoopMessage => ['end', 'app', String(item)];

interface Received {
  readonly from: number;
  readonly message: LoopMessage;
}

/** Links of `count` loops, all in this thread, and what each has received. */
function openLoops(count: number) {
  const counts = shareLoopCounts(count);
  const links = linkLoops(count).map((ports, index) => new LoopLinks({ index, ports, counts }));
  const received = links.map((): Received[] => []);
  const receiveAll = () =>
    links.forEach((link, index) => {
      link.receive((from, messages) => {
        received[index]?.push(...messages.map((message) => ({ from, message })));
      });
    });
  return {
    links,
    received,
    receiveAll,
    [Symbol.dispose]: () => links.forEach((link) => void link[Symbol.dispose]()),
  };
}

/** Waits until as many messages have come, in all. */
async function until(received: readonly Received[][], messages: number): Promise<void> {
  while (received.flat().length < messages) await settled();
}

describe('the links between realtime loops', () => {
  it('carry each message to the one loop that it is for, with its sender', async () => {
    using loops = openLoops(3);
    loops.receiveAll();

    loops.links[0]?.send(2, engine('a'));
    loops.links[2]?.send(1, engine('b'));
    await until(loops.received, 2);

    expect(loops.received).toEqual([
      [],
      [{ from: 2, message: engine('b') }],
      [{ from: 0, message: engine('a') }],
    ]);
  });

  it('keep the order of messages to one loop, also across callbacks', async () => {
    using loops = openLoops(2);
    loops.receiveAll();

    for (let number = 0; number < 1000; number++) {
      loops.links[0]?.send(1, engine(number));
      if (number % 7 === 0) await Promise.resolve();
      if (number % 100 === 0) await settled();
    }
    await until(loops.received, 1000);

    expect(loops.received[1]?.map(({ message }) => message)).toEqual(
      Array.from({ length: 1000 }, (_, number) => engine(number)),
    );
  });

  describe('posting', () => {
    let nowMs = 0;
    const posted: unknown[] = [];
    let links: LoopLinks;

    beforeEach(() => {
      spyOn(performance, 'now').mockImplementation(() => nowMs);
      posted.length = 0;
      const port = { postMessage: (data: unknown) => posted.push(data) } as unknown as MessagePort;
      links = new LoopLinks({
        index: 0,
        ports: [undefined, port],
        counts: shareLoopCounts(2),
      });
    });
    afterEach(() => void mock.restore());

    it('sends messages after a pause as one array when the callback ends', async () => {
      for (let round = 0; round < 2; round++) {
        links.send(1, engine('a'));
        links.send(1, engine('b'));
        await Promise.resolve();
        expect(posted.splice(0)).toEqual([[engine('a'), engine('b'), round]]);
        nowMs += 0.5;
      }
    });

    it('sends all messages of one turn as one array soon after others', async () => {
      links.send(1, engine('first'));
      await Promise.resolve();
      posted.length = 0;
      nowMs += 0.4;

      links.send(1, engine('a'));
      await Promise.resolve();
      links.send(1, engine('b'));
      await Promise.resolve();
      expect(posted).toEqual([]);
      await new Promise((resolve) => setImmediate(resolve));
      expect(posted).toEqual([[engine('a'), engine('b'), 1]]);
    });

    it('sends a message at once that must be posted, behind those that wait', async () => {
      links.send(1, engine('a'));
      links.post(1, engine('b'));
      expect(posted.splice(0)).toEqual([[engine('a'), engine('b'), 0]]);
      await Promise.resolve();
      expect(posted).toEqual([]);
    });
  });

  it('post texts in a row as one text, between other messages', async () => {
    using loops = openLoops(2);
    const [first] = loops.links;
    loops.receiveAll();
    for (const message of ['a', 'b']) first?.send(1, message);
    await until(loops.received, 1);
    for (const message of ['c', engine('between'), 'd', 'e']) first?.send(1, message);
    expect(first?.backlog(1)).toBe(3);
    await until(loops.received, 4);
    expect(first?.backlog(1)).toBe(0);
    expect(loops.received[1]?.map(({ message }) => message)).toEqual([
      'ab',
      'c',
      engine('between'),
      'de',
    ]);
  });

  it('keep messages until the other loop begins to receive', async () => {
    using loops = openLoops(2);
    loops.links[0]?.send(1, engine('early'));
    await settled(5);

    loops.receiveAll();
    loops.links[0]?.send(1, engine('late'));
    await until(loops.received, 2);

    expect(loops.received[1]?.map(({ message }) => message)).toEqual([
      engine('early'),
      engine('late'),
    ]);
  });

  it('send what waits before they close', async () => {
    const loops = openLoops(2);
    loops.receiveAll();

    loops.links[0]?.send(1, engine('last'));
    loops.links[0]?.[Symbol.dispose]();
    await until(loops.received, 1);
    loops[Symbol.dispose]();
  });

  it('reach every other loop at once', async () => {
    using loops = openLoops(4);
    loops.receiveAll();

    loops.links[1]?.sendToAll(engine('all'));
    await until(loops.received, 3);

    expect(loops.received.map((of) => of.length)).toEqual([1, 0, 1, 1]);
  });

  it('count the messages that another loop has not handled yet', async () => {
    using loops = openLoops(3);
    const [first, second] = loops.links;
    for (let n = 0; n < 5; n++) first?.send(1, engine(n));
    second?.send(0, engine('other way'));
    expect([1, 2].map((loop) => first?.backlog(loop))).toEqual([5, 0]);
    await settled(5);
    expect(first?.backlog(1)).toBe(5);

    loops.receiveAll();
    await until(loops.received, 6);

    expect([1, 2].map((loop) => first?.backlog(loop))).toEqual([0, 0]);
    expect(second?.backlog(0)).toBe(0);
  });

  it('refuse a message to the loop itself', () => {
    using loops = openLoops(2);

    expect(() => loops.links[0]?.send(0, engine('none'))).toThrow('no link');
  });
});
