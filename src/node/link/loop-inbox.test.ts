import { describe, expect, it } from 'bun:test';
import { settled } from '../../../testing/fake-time.ts';
import { shareLoopCounts } from './loop-counts.ts';
import { LoopLinks, linkLoops } from './loop-links.ts';
import type { LoopMessage } from './messages.ts';

/** What goes ahead, and what does not. */
const question = (text: string): LoopMessage => ['channel-count', text];
const answer = (text: string): LoopMessage => ['end', 'app', text];
const isQuestion = (message: LoopMessage) => Array.isArray(message) && message[0] !== 'end';

/** Links of loops in this thread; the last loop receives. */
function openLoops(count: number) {
  const counts = shareLoopCounts(count);
  const links = linkLoops(count).map((ports, index) => new LoopLinks({ index, ports, counts }));
  const handled: string[] = [];
  const to = count - 1;
  const [receiver] = links.slice(-1);
  receiver?.receive((_, messages) => {
    for (const message of messages)
      handled.push(Array.isArray(message) ? String(message.at(-1)) : '');
  }, isQuestion);
  return {
    handled,
    receiver,
    post: (from: number, message: LoopMessage) => links[from]?.post(to, message),
    backlog: (from: number) => links[from]?.backlog(to),
    [Symbol.dispose]: () => links.forEach((link) => void link[Symbol.dispose]()),
  };
}

describe('a loop that catches up with the others', () => {
  it('has handled what they asked when the call returns, in the order of posting', () => {
    using loops = openLoops(4);
    for (const [n, from] of [2, 0, 1, 1, 0, 2].entries()) loops.post(from, question(`${n}`));
    expect(loops.receiver?.isBehind).toBe(true);

    loops.receiver?.catchUp();

    expect(loops.handled).toEqual(['0', '1', '2', '3', '4', '5']);
    expect(loops.receiver?.isBehind).toBe(false);
    expect([0, 1, 2].map(loops.backlog)).toEqual([0, 0, 0]);
  });

  it('leaves the rest to the end of the callback, in order', async () => {
    using loops = openLoops(3);
    for (const text of ['a', 'b']) {
      loops.post(0, answer(`${text} of 0`));
      loops.post(0, question(text));
      loops.post(1, answer(`${text} of 1`));
    }

    loops.receiver?.catchUp();
    expect(loops.handled.splice(0)).toEqual(['a', 'b']);
    expect(loops.backlog(0)).toBe(2);

    await Promise.resolve();
    expect(loops.handled).toEqual(['a of 0', 'a of 1', 'b of 0', 'b of 1']);
    expect([0, 1].map(loops.backlog)).toEqual([0, 0]);
  });

  it('handles nothing twice, and nothing inside of what it handles', async () => {
    using loops = openLoops(2);
    loops.post(0, question('first'));
    loops.receiver?.catchUp();
    loops.post(0, question('second'));
    await settled(5);
    loops.receiver?.catchUp();

    expect(loops.handled).toEqual(['first', 'second']);
  });
});

describe('messages of several loops', () => {
  it('are handled in the order of posting, even if the runtime has too many for one turn', async () => {
    using loops = openLoops(3);
    // A port has events for 1,024 of its messages in one turn of the loop.
    const expected = Array.from({ length: 3000 }, (_, n) => `${n}`);
    for (const text of expected) loops.post(text.endsWith('999') ? 1 : 0, question(text));

    while (loops.handled.length < expected.length) await settled();

    expect(loops.handled).toEqual(expected);
  });
});
