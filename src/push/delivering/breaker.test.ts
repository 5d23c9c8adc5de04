import { describe, expect, it } from 'bun:test';
import type { Outcome } from '../gateway.ts';
import { Breaker } from './breaker.ts';

const accepted: Outcome = { result: 'accepted' };
const trouble = (scope: 'device' | 'gateway' = 'gateway', afterMs?: number): Outcome => ({
  result: 'try-again',
  reason: 'http-503',
  afterMs,
  scope,
});
const unauthorised: Outcome = { result: 'not-authorised', reason: 'BadKey', words: 'Bad key' };

/** A breaker, and a clock beside it. */
class Scene {
  readonly breaker: Breaker;
  nowMs = 1_000_000;

  constructor(unauthorisedMax = 1) {
    this.breaker = new Breaker(unauthorisedMax);
  }

  send(outcome: Outcome) {
    return this.breaker.learn(this.breaker.begin(this.nowMs), outcome, this.nowMs);
  }

  sendMany(outcome: Outcome, count: number) {
    return Array.from({ length: count }, () => this.send(outcome));
  }

  /** Waits until something may be sent, and gives how long that was. */
  wait(): number {
    const ms = this.breaker.waitMs(this.nowMs);
    this.nowMs += ms;
    return ms;
  }
}

describe('a breaker', () => {
  it('opens when the gateway fails five times in a row', () => {
    const scene = new Scene();
    expect(scene.sendMany(trouble(), 4)).toEqual(Array(4).fill('unchanged'));
    expect(scene.breaker.waitMs(scene.nowMs)).toBe(0);
    expect(scene.send(trouble())).toBe('opened');
    const sinceMs = scene.nowMs;
    const opened = { why: 'gateway', reason: 'http-503', words: '', sinceMs } as const;
    expect(scene.breaker.opened).toEqual(opened);
    expect(scene.breaker.waitMs(scene.nowMs)).toBe(1_000);
  });

  it('takes single devices for the gateway only where twenty of them fail in a row', () => {
    const scene = new Scene();
    scene.sendMany(trouble('device'), 19);
    expect(scene.breaker.opened).toBeUndefined();
    scene.send(accepted);
    scene.sendMany(trouble('device'), 19);
    expect(scene.breaker.opened).toBeUndefined();
    expect(scene.send(trouble('device'))).toBe('opened');
  });

  it('begins to count anew with each device that is answered', () => {
    const answers: readonly Outcome[] = [
      accepted,
      { result: 'refused', reason: 'x', words: '' },
      { result: 'token-gone', reason: 'x', sinceMs: undefined },
    ];
    for (const answer of answers) {
      const scene = new Scene();
      scene.sendMany(trouble(), 4);
      scene.send(answer);
      scene.sendMany(trouble(), 4);
      expect(scene.breaker.opened).toBeUndefined();
    }
  });

  it('lets one through after a second, and waits twice as long each time that fails, up to a minute', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    const pauses = Array.from({ length: 8 }, () => {
      const ms = scene.wait();
      scene.send(trouble());
      return ms;
    });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it('lets nobody else through while a probe is under way, and misses one that never comes back', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    scene.wait();
    scene.breaker.begin(scene.nowMs);
    expect(scene.breaker.waitMs(scene.nowMs)).toBe(60_000);
    expect(scene.breaker.isOpenFor(100_000, scene.nowMs)).toBe(true);
    expect(scene.breaker.waitMs(scene.nowMs + 60_000)).toBe(0);
  });

  it('closes when the probe is answered, and begins with short pauses the next time', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    scene.wait();
    scene.send(trouble());
    scene.wait();
    expect(scene.send(accepted)).toBe('closed');
    expect(scene.breaker.waitMs(scene.nowMs)).toBe(0);
    scene.sendMany(trouble(), 5);
    expect(scene.wait()).toBe(1_000);
  });

  it('does not listen to what was sent before it opened', () => {
    const scene = new Scene();
    const early = scene.breaker.begin(scene.nowMs);
    scene.sendMany(trouble(), 5);
    expect(scene.breaker.learn(early, accepted, scene.nowMs)).toBe('unchanged');
    expect(scene.breaker.opened).toBeDefined();
    scene.wait();
    const probe = scene.breaker.begin(scene.nowMs);
    scene.breaker.learn(early, trouble(), scene.nowMs);
    expect(scene.breaker.learn(probe, accepted, scene.nowMs)).toBe('closed');
  });

  it('opens at once for as long as a gateway wants to be left alone, within reason', () => {
    const scene = new Scene();
    expect(scene.send(trouble('gateway', 20_000))).toBe('opened');
    expect(scene.wait()).toBe(20_000);
    expect(scene.send(trouble('gateway', 24 * 3_600_000))).toBe('unchanged');
    expect(scene.wait()).toBe(15 * 60_000);
  });

  it('does not take what a gateway wants for one device for what it wants for all', () => {
    const scene = new Scene();
    scene.send(trouble('device', 20_000));
    expect(scene.breaker.opened).toBeUndefined();
  });

  it('opens at once for a credential that is not accepted, with longer pauses', () => {
    const scene = new Scene();
    expect(scene.send(unauthorised)).toBe('opened');
    expect(scene.breaker.opened).toMatchObject({
      why: 'credential',
      reason: 'BadKey',
      words: 'Bad key',
    });
    const pauses = Array.from({ length: 5 }, () => {
      const ms = scene.wait();
      scene.send(unauthorised);
      return ms;
    });
    expect(pauses).toEqual([30_000, 60_000, 120_000, 240_000, 300_000]);
  });

  it('waits for several in a row where each may have a key of its own', () => {
    const scene = new Scene(10);
    scene.sendMany(unauthorised, 9);
    scene.send(accepted);
    scene.sendMany(unauthorised, 9);
    expect(scene.breaker.opened).toBeUndefined();
    expect(scene.send(unauthorised)).toBe('opened');
  });

  it('sends others away for as long as it waits, and while a probe is under way for the next pause', () => {
    const scene = new Scene();
    const awayMs = () => scene.breaker.awayMs(scene.nowMs);
    expect(awayMs()).toBe(0);
    scene.sendMany(trouble(), 5);
    expect(awayMs()).toBe(1_000);
    scene.nowMs += 400;
    expect(awayMs()).toBe(600);
    scene.wait();
    const probe = scene.breaker.begin(scene.nowMs);
    expect(awayMs()).toBe(2_000);
    scene.breaker.learn(probe, trouble(), scene.nowMs);
    scene.nowMs += 500;
    expect(awayMs()).toBe(1_500);
    scene.wait();
    scene.send(accepted);
    expect(awayMs()).toBe(0);
  });

  it('waits no longer than a pause from when the clock was set back', () => {
    const outcomes = [
      [trouble(), 1_000],
      [trouble('gateway', 900_000), 900_000],
      [unauthorised, 30_000],
    ] as const;
    for (const [outcome, pauseMs] of outcomes) {
      const scene = new Scene();
      while (scene.send(outcome) === 'unchanged');
      scene.nowMs += 400;
      scene.nowMs -= 3_600_000;
      expect(scene.breaker.isOpenFor(pauseMs, scene.nowMs)).toBe(false);
      expect(scene.breaker.awayMs(scene.nowMs)).toBe(pauseMs);
      scene.nowMs += 400;
      expect(scene.wait()).toBe(pauseMs - 400);
      // The same for a probe that never comes back.
      scene.breaker.begin(scene.nowMs);
      scene.nowMs -= 3_600_000;
      expect(scene.wait()).toBe(60_000);
      expect(scene.breaker.waitMs(scene.nowMs)).toBe(0);
    }
  });

  it('remembers since when it is open', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    const sinceMs = scene.nowMs;
    scene.wait();
    scene.send(unauthorised);
    expect(scene.breaker.opened).toMatchObject({ why: 'credential', sinceMs });
  });

  it('can be told to begin anew', () => {
    const scene = new Scene();
    scene.send(unauthorised);
    scene.breaker.reset();
    expect(scene.breaker.waitMs(scene.nowMs)).toBe(0);
  });
});
