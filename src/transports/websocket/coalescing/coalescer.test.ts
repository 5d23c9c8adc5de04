import { beforeEach, describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { Coalescer } from './coalescer.ts';

let nowMs: number;
let busy: number;
let sent: string[];
let timers: { atMs: number; run: () => void }[];
let turnEnds: (() => void)[];
let coalescer: Coalescer;

beforeEach(() => {
  nowMs = 1000;
  busy = 0;
  sent = [];
  timers = [];
  turnEnds = [];
  coalescer = new Coalescer({
    now: () => nowMs,
    busyShare: () => busy,
    after: (delayMs, run) => timers.push({ atMs: nowMs + delayMs, run }),
    afterTurn: (run) => turnEnds.push(run),
  });
});

const named = (name: string, { topic = name, frame = name, receivers = 1 } = {}) => ({
  topic,
  frame,
  receivers,
  run: () => void sent.push(name),
});
const publish = (...what: Parameters<typeof named>) => coalescer.publishBatched(named(...what));

/** The loop sends what was published, which takes this long, and continues. */
function endTurn(tookMs = 1): void {
  nowMs += tookMs;
  for (const run of turnEnds.splice(0)) run();
}

function passTime(ms: number): void {
  nowMs += ms;
  const due = timers.filter(({ atMs }) => atMs <= nowMs);
  timers = timers.filter(({ atMs }) => atMs > nowMs);
  for (const { run } of due) run();
}

/** The next turn brings nothing, and neither does the pause that follows. */
function waitInVain(): void {
  for (let turns = 0; turns < 2; turns++) endTurn(0);
  passTime(1);
}

/** Publishes two events of each topic to 100 connections each. */
function publishPairs(count: number): void {
  for (let one = 0; one < count; one++) publish('x', { topic: String(one >> 1), receivers: 100 });
}

describe('a publish', () => {
  it('leaves at once while the loop has time', () => {
    for (const name of ['a', 'b', 'c']) {
      publish(name);
      expect(sent.at(-1)).toBe(name);
      endTurn();
    }
    expect(timers).toEqual([]);
  });

  it('leaves at once on a busy loop if nothing was sent for 5 ms', () => {
    busy = 0.9;
    publish('a');
    endTurn();
    nowMs += 5;
    publish('b');
    expect(sent).toEqual(['a', 'b']);
  });

  it('joins what its turn has published already', () => {
    busy = 0.9;
    publish('a');
    publish('b');
    expect(sent).toEqual(['a', 'b']);
  });

  it('waits on a busy loop for another turn and then for 1 ms, and leaves if no others arrive', () => {
    busy = 0.9;
    publish('a');
    endTurn(8);
    publish('b');
    endTurn(0);
    endTurn(0);
    passTime(0.9);
    expect(sent).toEqual(['a']);
    passTime(0.1);
    expect(sent).toEqual(['a', 'b']);
  });

  it('waits for another turn while each brings a quarter of what the turn before brought', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    for (const count of [16, 4, 1, 1]) {
      publishPairs(count);
      endTurn(0.1);
      expect(timers).toEqual([]);
    }
    endTurn(0.1);
    expect(sent).toEqual(['first']);
    expect(timers).toHaveLength(1);
  });

  it('does not wait for another turn after one that brought less', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    publishPairs(16);
    endTurn(0);
    publishPairs(3);
    endTurn(0);
    expect(timers).toHaveLength(1);
    passTime(1);
    expect(sent).toHaveLength(20);
  });

  it('keeps waiting if half as many as in the first turn arrive within 1 ms', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    publishPairs(4);
    for (let turns = 0; turns < 2; turns++) endTurn(0);
    publishPairs(2);
    passTime(1);
    expect(sent).toEqual(['first']);
    // Once more: a turn, and a pause.
    endTurn(0);
    publishPairs(1);
    passTime(1);
    expect(sent).toHaveLength(8);
  });

  it.each([
    [49, false],
    [50, true],
  ])(
    'keeps waiting only if that merges 100 sends: two more for the same %p connections, %p',
    (each, waits) => {
      busy = 0.9;
      publish('first');
      endTurn();
      const publishTwo = () => {
        for (let one = 0; one < 2; one++) publish('x', { receivers: each });
      };
      publishTwo();
      for (let turns = 0; turns < 2; turns++) endTurn(0);
      publishTwo();
      passTime(1);
      expect(sent).toHaveLength(waits ? 1 : 5);
    },
  );

  it('waits 8 ms at most, whatever arrives', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    for (let turn = 1; turn <= 8; turn++) {
      expect(sent).toEqual(['first']);
      publishPairs(10);
      endTurn(1);
    }
    expect(sent).toHaveLength(81);
  });

  it('waits longer than 8 ms while the loop does not keep up', () => {
    busy = 0.9;
    publish('first');
    endTurn(0);
    /** How long the next ones wait while each millisecond brings more. */
    const waitsMs = () => {
      const [beforeMs, sentBefore] = [nowMs, sent.length];
      while (sent.length === sentBefore) {
        publishPairs(4);
        endTurn(1);
      }
      for (let turns = 0; turns < 2; turns++) endTurn(0);
      return nowMs - beforeMs;
    };
    expect(Array.from({ length: 6 }, waitsMs)).toEqual([8, 8, 8, 8, 8, 10]);
    for (let time = 0; time < 2; time++) {
      publishPairs(2);
      waitInVain();
      for (let turns = 0; turns < 2; turns++) endTurn(0);
    }
    expect(waitsMs()).toBe(8);
  });

  it('leaves without a pause that would exceed the limit', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    publishPairs(2);
    endTurn(7.5);
    expect(sent).toEqual(['first']);
    endTurn(0);
    expect(sent).toEqual(['first', 'x', 'x']);
  });

  it('leaves without a pause after one that was not worth it, for a time that doubles', () => {
    busy = 0.9;
    const looks = () => {
      publishPairs(2);
      for (let turns = 0; turns < 2; turns++) endTurn(0);
      return timers.length === 1;
    };
    /** The pause merges nothing; then there is none for this long. */
    const looksAgainAfter = (pauseMs: number) => {
      passTime(1);
      for (let turns = 0; turns < 2; turns++) endTurn(0);
      nowMs += pauseMs - 2;
      publish('shortly before');
      endTurn(0);
      nowMs += 1;
      expect(looks()).toBe(false);
      for (let turns = 0; turns < 2; turns++) endTurn(0);
      nowMs += 1;
      expect(looks()).toBe(true);
    };
    publish('first');
    endTurn();
    expect(looks()).toBe(true);
    for (const pauseMs of [10, 20, 40, 80, 80]) looksAgainAfter(pauseMs);
    publishPairs(1);
    passTime(1);
    endTurn(0);
    expect(timers).toHaveLength(1);
    for (const pauseMs of [10, 20]) looksAgainAfter(pauseMs);
  });

  it('is judged by the publishes of its own wait', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    publishPairs(16);
    endTurn(0);
    coalescer.flush();
    endTurn();
    publishPairs(2);
    endTurn(0);
    expect(timers).toEqual([]);
    endTurn(0);
    expect(timers).toHaveLength(1);
    publishPairs(1);
    passTime(1);
    expect(sent).toHaveLength(17);
  });

  it('ends its wait when it leaves', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    publishPairs(2);
    coalescer.flush();
    endTurn();
    expect(turnEnds).toEqual([]);
    publishPairs(2);
    for (let turns = 0; turns < 2; turns++) endTurn(0);
    coalescer.flush();
    endTurn(0);
    // That pause has ended: the next publishes wait as if there had been none.
    passTime(1);
    expect(turnEnds).toEqual([]);
    publishPairs(2);
    for (let turns = 0; turns < 2; turns++) endTurn(0);
    expect(timers).toHaveLength(1);
  });

  it('does not wait if it is too large', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    publish('large', { frame: 'x'.repeat(1024 * 1024) });
    expect(sent).toEqual(['first', 'large']);
    endTurn();
    expect(turnEnds).toEqual([]);
  });

  it('waits after a flush by a timer, from the moment the loop has sent that', () => {
    busy = 0.9;
    publish('a');
    endTurn();
    for (const name of ['b', 'c']) publish(name, { topic: 'x' });
    waitInVain();
    expect(sent).toEqual(['a', 'b', 'c']);
    // Eight milliseconds later the loop has sent them, and continues to read.
    nowMs += 8;
    publish('d');
    expect(sent).toEqual(['a', 'b', 'c']);
    waitInVain();
    expect(sent).toEqual(['a', 'b', 'c', 'd']);
  });

  it.each([
    [18, true],
    [19, false],
  ])(
    'waits again only if the last wait merged 5 % of sends: one beside %p others, %p',
    (others, waits) => {
      busy = 0.9;
      publish('first');
      endTurn();
      publish('news', { topic: 'shared' });
      publish('more news', { topic: 'shared' });
      publish('other', { receivers: others });
      waitInVain();
      for (let turns = 0; turns < 2; turns++) endTurn(0);
      nowMs += 3;
      publish('next');
      expect(sent.at(-1)).toBe(waits ? 'other' : 'next');
    },
  );

  it('does not wait after a wait that merged few sends, for a time that doubles', () => {
    busy = 0.9;
    /** Nothing waits for this long, and the next does. */
    const waitsAgainAfter = (pauseMs: number) => {
      coalescer.flush();
      endTurn(0);
      nowMs += pauseMs - 2;
      publish('early');
      endTurn(0);
      nowMs += 1;
      publish('too early');
      expect(sent.at(-1)).toBe('too early');
      endTurn(0);
      nowMs += 1;
      publish('next');
      expect(sent.at(-1)).toBe('too early');
    };
    publish('first');
    endTurn();
    publish('next');
    for (const pauseMs of [4, 8, 16, 32, 64, 128, 200, 200]) waitsAgainAfter(pauseMs);

    publish('next');
    coalescer.flush();
    endTurn();
    publish('next');
    for (const pauseMs of [4, 8]) waitsAgainAfter(pauseMs);
  });

  it('does not wait if all events go to different connections, until they no longer do', () => {
    busy = 0.9;
    let others = 0;
    const publishOthers = (count: number) => {
      for (let one = 0; one < count; one++) publish(`other ${others++}`);
    };
    publishOthers(1);
    publishOthers(500);
    endTurn();
    publish('a');
    expect(sent.at(-1)).toBe('a');
    endTurn();
    for (let again = 0; again < 20; again++) publish('a');
    endTurn();
    publish('b');
    expect(sent.at(-1)).toBe('a');
  });

  it('does not wait if a flush by a timer was sent long ago', () => {
    busy = 0.9;
    publish('a');
    endTurn();
    for (const name of ['b', 'b2']) publish(name, { topic: 'x' });
    waitInVain();
    for (let turns = 0; turns < 2; turns++) endTurn();
    nowMs += 5;
    publish('c');
    expect(sent).toEqual(['a', 'b', 'b2', 'c']);
  });

  it('waits from 60 % of a core on', () => {
    for (const [share, waits] of [
      [0.59, false],
      [0.6, true],
    ] as const) {
      busy = share;
      nowMs += 100;
      publish('first');
      endTurn();
      publish('second');
      expect(sent.at(-1)).toBe(waits ? 'first' : 'second');
      coalescer.flush();
      endTurn();
    }
  });

  it('does not wait if it must not, but never overtakes', () => {
    busy = 0.9;
    publish('a');
    endTurn();
    coalescer.publish(named('of a client'));
    expect(sent).toEqual(['a', 'of a client']);
    endTurn();
    publish('b');
    coalescer.publish(named('of a client, too'));
    expect(sent).toEqual(['a', 'of a client']);
    waitInVain();
    expect(sent).toEqual(['a', 'of a client', 'b', 'of a client, too']);
  });

  it('keeps its place when the loop gets time', () => {
    busy = 0.9;
    publish('a');
    endTurn();
    publish('b');
    busy = 0;
    publish('c');
    expect(sent).toEqual(['a']);
    waitInVain();
    expect(sent).toEqual(['a', 'b', 'c']);
  });

  it('leaves before anything that must come after it', () => {
    busy = 0.9;
    publish('a');
    endTurn();
    publish('b');
    publish('c');
    coalescer.flush();
    expect(sent).toEqual(['a', 'b', 'c']);
    passTime(100);
    expect(sent).toEqual(['a', 'b', 'c']);
  });
});

describe('what is held', () => {
  it('is bounded in number and in size', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    for (let held = 0; held < 4095; held++) publish('x', { topic: String(held) });
    expect(sent).toEqual(['first']);
    publish('last');
    expect(sent).toHaveLength(4097);

    endTurn();
    publish('small');
    publish('large', { frame: 'x'.repeat(1024 * 1024) });
    expect(sent.slice(-2)).toEqual(['small', 'large']);
  });

  it('leaves when there is as much of one topic as goes into one write', () => {
    busy = 0.9;
    publish('first');
    endTurn();
    publish('other');
    for (let held = 1; held < 32; held++) publish('x', { topic: 'x' });
    expect(sent).toEqual(['first']);
    publish('last', { topic: 'x' });
    expect(sent).toHaveLength(34);
    expect(sent.at(-1)).toBe('last');
  });

  it('leaves whole, once and in order, whatever happens', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('publish' as const) }),
      fc.record({ do: fc.constant('publish at once' as const) }),
      fc.record({ do: fc.constant('flush' as const) }),
      fc.record({ do: fc.constant('end turn' as const), ms: fc.integer({ min: 0, max: 20 }) }),
      fc.record({ do: fc.constant('pass time' as const), ms: fc.integer({ min: 0, max: 20 }) }),
      fc.record({
        do: fc.constant('load' as const),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        sent = [];
        let published = 0;
        for (const one of steps) {
          if (one.do === 'publish') publish(String(published++));
          else if (one.do === 'publish at once') coalescer.publish(named(String(published++)));
          else if (one.do === 'flush') coalescer.flush();
          else if (one.do === 'end turn') endTurn(one.ms);
          else if (one.do === 'pass time') passTime(one.ms);
          else busy = one.share;
        }
        waitInVain();
        passTime(8);
        waitInVain();
        expect(sent).toEqual(Array.from({ length: published }, (_, index) => String(index)));
      }),
      { numRuns: 500 },
    );
  });
});
