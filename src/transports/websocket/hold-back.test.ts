import { beforeEach, describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { HoldBack } from './hold-back.ts';

let nowMs: number;
let busy: number;
let sent: string[];
let timers: { atMs: number; run: () => void }[];
let turnEnds: (() => void)[];
let holdBack: HoldBack;

beforeEach(() => {
  nowMs = 1000;
  busy = 0;
  sent = [];
  timers = [];
  turnEnds = [];
  holdBack = new HoldBack({
    now: () => nowMs,
    busyShare: () => busy,
    after: (delayMs, run) => timers.push({ atMs: nowMs + delayMs, run }),
    afterTurn: (run) => turnEnds.push(run),
  });
});

const publish = (name: string, { topic = name, frame = name } = {}) =>
  holdBack.publish({ topic, frame, run: () => void sent.push(name) });

/** The loop sends what was published, which takes so long, and goes on. */
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

describe('a publish', () => {
  it('leaves at once while the loop has time', () => {
    for (const name of ['a', 'b', 'c']) {
      publish(name);
      expect(sent.at(-1)).toBe(name);
      endTurn();
    }
    expect(timers).toEqual([]);
  });

  it('leaves at once on a busy loop too, when none left for 5 ms', () => {
    busy = 1;
    publish('a');
    endTurn();
    nowMs += 5;
    publish('b');
    expect(sent).toEqual(['a', 'b']);
  });

  it('leaves with those of the same turn, which costs nothing more', () => {
    busy = 1;
    publish('a');
    publish('b');
    expect(sent).toEqual(['a', 'b']);
  });

  it('waits on a busy loop until 5 ms after the last ones were sent, and leaves with the others', () => {
    busy = 1;
    publish('a');
    endTurn(8);
    publish('b');
    passTime(3);
    publish('c');
    expect(sent).toEqual(['a']);
    passTime(1.9);
    expect(sent).toEqual(['a']);
    passTime(0.1);
    expect(sent).toEqual(['a', 'b', 'c']);
  });

  it('waits again for those that a timer let go, from when they were sent', () => {
    busy = 1;
    publish('a');
    endTurn();
    publish('b');
    passTime(5);
    // Eight milliseconds later the loop has sent them, and reads on.
    nowMs += 8;
    publish('c');
    expect(sent).toEqual(['a', 'b']);
    passTime(4.9);
    expect(sent).toEqual(['a', 'b']);
    passTime(0.1);
    expect(sent).toEqual(['a', 'b', 'c']);
  });

  it('does not wait for those that a timer let go when that is long ago', () => {
    busy = 1;
    publish('a');
    endTurn();
    publish('b');
    passTime(5);
    for (let turns = 0; turns < 2; turns++) endTurn();
    nowMs += 5;
    publish('c');
    expect(sent).toEqual(['a', 'b', 'c']);
  });

  it('waits longer the busier the loop is, from seven tenths of a core on', () => {
    const waits = [0.3, 0.7, 0.72, 0.76, 0.85, 1].map((share) => {
      busy = share;
      nowMs += 100;
      publish('first');
      endTurn();
      publish('second');
      const [timer] = timers.splice(0);
      const waitMs = timer === undefined ? 0 : timer.atMs - nowMs;
      timer?.run();
      for (let turns = 0; turns < 2; turns++) endTurn();
      return Math.round(waitMs * 10) / 10;
    });
    expect(waits).toEqual([0, 0, 0, 1, 2.5, 5]);
  });

  it('keeps its place, also when the loop has time again meanwhile', () => {
    busy = 1;
    publish('a');
    endTurn();
    publish('b');
    busy = 0;
    publish('c');
    expect(sent).toEqual(['a']);
    passTime(5);
    expect(sent).toEqual(['a', 'b', 'c']);
  });

  it('leaves before whatever must come after it', () => {
    busy = 1;
    publish('a');
    endTurn();
    publish('b');
    publish('c');
    holdBack.flush();
    expect(sent).toEqual(['a', 'b', 'c']);
    passTime(100);
    expect(sent).toEqual(['a', 'b', 'c']);
  });
});

describe('what is held', () => {
  it('is bounded in number and in size', () => {
    busy = 1;
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
    busy = 1;
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
          else if (one.do === 'flush') holdBack.flush();
          else if (one.do === 'end turn') endTurn(one.ms);
          else if (one.do === 'pass time') passTime(one.ms);
          else busy = one.share;
        }
        passTime(5);
        expect(sent).toEqual(Array.from({ length: published }, (_, index) => String(index)));
      }),
      { numRuns: 500 },
    );
  });
});
