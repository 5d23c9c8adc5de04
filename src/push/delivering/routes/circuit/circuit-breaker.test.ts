import { describe, expect, it } from 'bun:test';
import type { Outcome } from '../../../gateway.ts';
import { CircuitBreaker } from './circuit-breaker.ts';

const accepted: Outcome = { result: 'accepted' };
const refused: Outcome = { result: 'refused', reason: 'x', words: '' };
const gone: Outcome = { result: 'token-gone', reason: 'x', sinceMs: undefined };
const trouble = (
  scope: 'device' | 'gateway' | 'connection' = 'gateway',
  afterMs?: number,
): Outcome => ({ result: 'try-again', reason: 'http-503', afterMs, scope });
const unauthorised: Outcome = { result: 'not-authorised', reason: 'BadKey', words: 'Bad key' };

/** A circuit breaker with a clock and devices. Each send goes to a new device unless a test names one. */
class Scene {
  readonly distrusted: number[] = [];
  readonly breaker = new CircuitBreaker((device) => this.distrusted.push(device));
  nowMs = 1_000_000;
  private devices = 100;

  send(outcome: Outcome, { isTrusted = true, device = 0 } = {}) {
    this.devices += 1;
    const ticket = this.breaker.begin(isTrusted, this.nowMs);
    return this.end(ticket, outcome, { isTrusted, device: device || this.devices });
  }

  /** The outcome of a send that began earlier. */
  end(ticket: number, outcome: Outcome, { isTrusted = true, device = 1 } = {}) {
    return this.breaker.learn(ticket, { device, isTrusted }, outcome, this.nowMs);
  }

  sendMany(outcome: Outcome, count: number, to: Parameters<Scene['send']>[1] = {}) {
    return Array.from({ length: count }, () => this.send(outcome, to));
  }

  /** Waits until a device may be sent to, and returns how long that took. */
  wait(): number {
    const ms = this.breaker.waitMs(this.nowMs);
    this.nowMs += ms;
    return ms;
  }

  get untriedWaitMs(): number {
    return this.breaker.untriedWaitMs(this.nowMs);
  }

  get untrustedWaitMs(): number {
    return this.breaker.untrustedWaitMs(this.nowMs, false);
  }

  get isOpen(): boolean {
    return this.breaker.fault !== undefined;
  }
}

const untrusted = { isTrusted: false };

describe('a circuit', () => {
  it('opens when the gateway fails five trusted devices in a row', () => {
    const scene = new Scene();
    expect(scene.sendMany(trouble(), 4)).toEqual(Array(4).fill('unchanged'));
    expect(scene.breaker.waitMs(scene.nowMs)).toBe(0);
    expect(scene.send(trouble())).toBe('opened');
    expect(scene.breaker.fault).toEqual({
      why: 'gateway',
      reason: 'http-503',
      words: '',
    });
    expect(scene.breaker.waitMs(scene.nowMs)).toBe(1_000);
  });

  it('opens when the credential is refused to three trusted devices in a row', () => {
    const scene = new Scene();
    expect(scene.sendMany(unauthorised, 3)).toEqual(['unchanged', 'unchanged', 'opened']);
    expect(scene.breaker.fault).toMatchObject({
      why: 'credential',
      reason: 'BadKey',
      words: 'Bad key',
    });
    expect(scene.breaker.fault?.isUnproven).toBeUndefined();
  });

  it('opens for failures of single devices only when twenty fail in a row', () => {
    const scene = new Scene();
    scene.sendMany(trouble('device'), 19);
    scene.send(accepted);
    scene.sendMany(trouble('device'), 19);
    expect(scene.isOpen).toBe(false);
    expect(scene.send(trouble('device'))).toBe('opened');
  });

  it('starts counting again after each trusted device that is answered', () => {
    for (const answer of [accepted, refused, gone]) {
      const scene = new Scene();
      scene.sendMany(trouble(), 4);
      scene.send(answer);
      scene.sendMany(trouble(), 4);
      expect(scene.isOpen).toBe(false);
    }
    const scene = new Scene();
    scene.sendMany(unauthorised, 2);
    // Some services check the token before the credential.
    scene.send(gone);
    expect(scene.send(unauthorised)).toBe('opened');
  });

  it('opens for fewer than three devices only while no others are accepted', () => {
    const scene = new Scene();
    scene.send(accepted);
    scene.sendMany(unauthorised, 10, { device: 1 });
    scene.sendMany(trouble(), 10, { device: 2 });
    expect(scene.isOpen).toBe(false);
    const alone = new Scene();
    expect(alone.sendMany(unauthorised, 3, { device: 1 })).toContain('opened');
  });

  it('forgets failures after a minute', () => {
    const scene = new Scene();
    scene.sendMany(unauthorised, 2);
    scene.nowMs += 60_000;
    scene.sendMany(unauthorised, 2);
    expect(scene.isOpen).toBe(false);
  });
});

describe('untrusted devices', () => {
  it.each([unauthorised, trouble(), trouble('device'), trouble('gateway', 900_000)])(
    'never open it while a trusted device is known, however many fail: %j',
    (outcome) => {
      const scene = new Scene();
      scene.send(accepted);
      scene.sendMany(outcome, 1_000, untrusted);
      expect(scene.isOpen).toBe(false);
      expect(scene.breaker.waitMs(scene.nowMs)).toBe(0);
    },
  );

  it('neither cancel the failures of trusted devices nor close it', () => {
    const scene = new Scene();
    scene.sendMany(unauthorised, 2);
    scene.sendMany(gone, 10, untrusted);
    scene.sendMany(refused, 10, untrusted);
    expect(scene.send(unauthorised)).toBe('opened');
    scene.wait();
    for (const outcome of [gone, refused, unauthorised, trouble()]) {
      scene.send(outcome, untrusted);
      expect(scene.isOpen).toBe(true);
    }
  });

  it('open it while no trusted device is known, and ten a second are still sent to', () => {
    const scene = new Scene();
    expect(scene.sendMany(unauthorised, 3, untrusted)).toContain('opened');
    expect(scene.breaker.fault).toMatchObject({ why: 'credential', isUnproven: true });
    let sent = 0;
    for (const endMs = scene.nowMs + 10_000; scene.nowMs < endMs; scene.nowMs += 10) {
      if (scene.untrustedWaitMs > 0) continue;
      scene.send(unauthorised, untrusted);
      sent += 1;
    }
    expect(sent).toBe(100);
    expect(scene.send(accepted, untrusted)).toBe('closed');
    // That device is a trusted device now.
    scene.sendMany(unauthorised, 1_000, untrusted);
    expect(scene.isOpen).toBe(false);
  });

  it('no longer count when a trusted device arrives', () => {
    const scene = new Scene();
    scene.sendMany(trouble('gateway', 900_000), 5, untrusted);
    expect(scene.isOpen).toBe(true);
    scene.breaker.learnOfTrusted();
    expect(scene.untriedWaitMs).toBeLessThanOrEqual(100);
    expect(scene.send(accepted)).toBe('closed');
  });

  it('leave the probes of a round to trusted devices that arrive later', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    scene.nowMs += 1_000;
    for (let count = 0; count < 4; count++) {
      scene.send(trouble(), untrusted);
      scene.nowMs += 100;
    }
    expect(scene.breaker.waitMs(scene.nowMs)).toBe(0);
  });

  it('are sent to while no trusted device waits, and close it when one is accepted', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    expect(scene.untrustedWaitMs).toBeLessThanOrEqual(100);
    expect(scene.breaker.untrustedWaitMs(scene.nowMs, true)).toBe(1_000);
    expect(scene.send(accepted, untrusted)).toBe('closed');
  });
});

describe('an open circuit', () => {
  it('sends probes after 1 s, and doubles the pause each time, up to a minute', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    const pauses = Array.from({ length: 8 }, () => {
      const ms = scene.wait();
      scene.send(trouble());
      return ms;
    });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it('sends four probes at a time, and no more after the first that fails', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    scene.wait();
    const tickets: number[] = [];
    while (scene.breaker.waitMs(scene.nowMs) === 0) {
      tickets.push(scene.breaker.begin(true, scene.nowMs));
    }
    expect(tickets).toHaveLength(4);
    scene.wait();
    scene.send(trouble());
    expect(scene.breaker.waitMs(scene.nowMs)).toBeGreaterThan(0);
  });

  it('closes when a probe is answered, and begins with short pauses the next time', () => {
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

  it('does not close for a credential because a token is dead', () => {
    const scene = new Scene();
    scene.sendMany(unauthorised, 3);
    scene.wait();
    expect(scene.send(gone)).toBe('unchanged');
    expect(scene.isOpen).toBe(true);
    expect(scene.send(refused)).toBe('closed');
  });

  it('ignores outcomes of sends from before it opened, except an acceptance', () => {
    for (const outcome of [trouble(), unauthorised]) {
      const scene = new Scene();
      const early = scene.breaker.begin(true, scene.nowMs);
      while (scene.send(outcome) === 'unchanged');
      for (const answer of [outcome, refused, gone]) {
        expect(scene.end(early, answer)).toBe('unchanged');
      }
      expect(scene.end(early, accepted)).toBe('closed');
    }
  });

  it.each([
    ['ten', undefined, 100],
    ['one, while the gateway wants to be left alone,', 900_000, 10],
  ])('lets %s untried devices a second through beside its rounds', (_, askedMs, expected) => {
    const scene = new Scene();
    while (scene.send(trouble('gateway', askedMs)) === 'unchanged');
    let sent = 0;
    for (const endMs = scene.nowMs + 10_000; scene.nowMs < endMs; scene.nowMs += 10) {
      if (scene.breaker.waitMs(scene.nowMs) === 0) scene.send(trouble('gateway', askedMs));
      if (scene.untriedWaitMs > 0) continue;
      expect(scene.untrustedWaitMs).toBe(0);
      scene.send(trouble('gateway', askedMs));
      sent += 1;
    }
    expect(sent).toBeGreaterThan(expected * 0.8);
    expect(sent).toBeLessThanOrEqual(expected);
    expect(scene.send(accepted)).toBe('closed');
  });

  it('reports for how long it has been open, also when the reason changes', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    scene.wait();
    scene.send(unauthorised);
    expect(scene.breaker.fault).toMatchObject({ why: 'credential' });
    expect(scene.breaker.openForMs(scene.nowMs)).toBe(1_000);
  });

  it('keeps other devices away until the next probes', () => {
    const scene = new Scene();
    const awayMs = () => scene.breaker.awayMs(scene.nowMs);
    expect(awayMs()).toBe(0);
    scene.sendMany(trouble(), 5);
    expect(awayMs()).toBe(1_000);
    scene.nowMs += 400;
    expect(awayMs()).toBe(600);
    scene.wait();
    scene.send(trouble());
    expect(awayMs()).toBe(2_000);
    scene.wait();
    scene.send(accepted);
    expect(awayMs()).toBe(0);
  });

  it('counts as shut for waiting jobs once its pauses are longer than 5 s', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 5);
    const isShut: boolean[] = [];
    for (let round = 0; round < 5; round++) {
      isShut.push(scene.breaker.isShut(scene.nowMs));
      scene.wait();
      scene.send(trouble());
    }
    expect(isShut).toEqual([false, false, false, true, true]);
  });

  it('can be reset', () => {
    const scene = new Scene();
    scene.sendMany(unauthorised, 3);
    scene.breaker.reset();
    expect(scene.breaker.waitMs(scene.nowMs)).toBe(0);
    expect(scene.breaker.believesUntrusted()).toBe(true);
  });
});

describe('a pause that a gateway asks for', () => {
  it('does not count for all if only one or two devices got it, however often', () => {
    const scene = new Scene();
    scene.send(trouble('gateway', 900_000), { device: 1 });
    expect(scene.isOpen).toBe(false);
    scene.sendMany(trouble('gateway', 900_000), 10, { device: 1 });
    scene.sendMany(trouble('gateway', 900_000), 10, { device: 2 });
    expect(scene.breaker.awayMs(scene.nowMs)).toBeLessThanOrEqual(60_000);
  });

  it('counts for all if three trusted devices got it: the shortest of theirs, at most 15 minutes', () => {
    const scene = new Scene();
    scene.send(trouble('gateway', 900_000));
    scene.send(trouble('gateway', 20_000));
    expect(scene.send(trouble('gateway', 300_000))).toBe('opened');
    expect(scene.wait()).toBe(20_000);
    const patient = new Scene();
    patient.sendMany(trouble('gateway', 24 * 3_600_000), 3);
    expect(patient.wait()).toBe(15 * 60_000);
    // Untrusted devices need not wait longer, even if no trusted device is left.
    expect(patient.untrustedWaitMs).toBe(0);
  });

  it('does not count for all if the answer is about one device', () => {
    const scene = new Scene();
    scene.sendMany(trouble('device', 20_000), 20);
    expect(scene.wait()).toBe(1_000);
  });

  it('does not count for all if only untrusted devices got it', () => {
    const scene = new Scene();
    scene.sendMany(trouble('gateway', 900_000), 10, untrusted);
    expect(scene.isOpen).toBe(true);
    expect(scene.breaker.awayMs(scene.nowMs)).toBe(1_000);
    expect(scene.untrustedWaitMs).toBeLessThanOrEqual(100);
  });
});

describe('a hostile device', () => {
  it('counts alone as long as more others were accepted within the last minute', () => {
    for (const outcome of [unauthorised, trouble(), trouble('gateway', 900_000)]) {
      const scene = new Scene();
      scene.sendMany(accepted, 10);
      scene.sendMany(outcome, 10);
      expect(scene.isOpen).toBe(false);
      // The eleventh makes a majority, and so would fewer after a minute.
      expect(scene.send(outcome)).toBe('opened');
      const later = new Scene();
      later.sendMany(accepted, 10);
      later.nowMs += 60_000;
      expect(later.sendMany(outcome, 5)).toContain('opened');
    }
  });

  it('asks for all only if more ask than others were accepted within the last minute', () => {
    for (const [asking, expectedMs] of [
      [10, 1_000],
      [11, 900_000],
    ] as const) {
      const scene = new Scene();
      scene.sendMany(accepted, 10);
      scene.sendMany(trouble(), 7);
      scene.sendMany(trouble('gateway', 900_000), asking);
      expect(scene.isOpen).toBe(true);
      expect(scene.wait()).toBe(expectedMs);
    }
  });

  it('asks for no other device if most that fail do not ask', () => {
    const scene = new Scene();
    scene.sendMany(trouble(), 4);
    scene.sendMany(trouble('gateway', 900_000), 3);
    expect(scene.isOpen).toBe(true);
    expect(scene.wait()).toBe(1_000);
  });

  it('is distrusted when another device is accepted after it has failed', () => {
    const scene = new Scene();
    scene.send(trouble(), { device: 1 });
    scene.send(unauthorised, { device: 2 });
    scene.send(accepted, { device: 2 });
    expect(scene.distrusted).toEqual([1]);
    scene.send(trouble('device'), { device: 3 });
    scene.nowMs += 60_000;
    scene.send(accepted);
    expect(scene.distrusted).toEqual([1]);
  });

  it('is distrusted and does not count when another is accepted while it is sent to', () => {
    const scene = new Scene();
    const tickets = Array.from({ length: 100 }, () => scene.breaker.begin(true, scene.nowMs));
    scene.send(accepted, { device: 1_000 });
    scene.nowMs += 60_000;
    for (const [device, ticket] of tickets.entries()) scene.end(ticket, unauthorised, { device });
    expect(scene.isOpen).toBe(false);
    expect(scene.distrusted).toEqual([...tickets.keys()]);
  });

  it('is not distrusted for an acceptance of a send that began before its own', () => {
    const scene = new Scene();
    const before = scene.breaker.begin(true, scene.nowMs);
    const last = scene.breaker.begin(true, scene.nowMs);
    scene.send(accepted, { device: 1 });
    // The gateway goes down now.
    const failing = scene.breaker.begin(true, scene.nowMs);
    scene.send(trouble(), { device: 2 });
    scene.end(before, accepted, { device: 3 });
    scene.end(failing, trouble(), { device: 4 });
    scene.end(last, accepted, { device: 5 });
    expect(scene.distrusted).toEqual([]);
    scene.send(accepted, { device: 6 });
    expect(scene.distrusted).toEqual([2, 4]);
  });

  it('is not distrusted for an acceptance of its own', () => {
    const scene = new Scene();
    const ticket = scene.breaker.begin(true, scene.nowMs);
    scene.send(unauthorised, { device: 1 });
    scene.send(accepted, { device: 1 });
    scene.end(ticket, unauthorised, { device: 1 });
    expect(scene.distrusted).toEqual([]);
  });

  it('counts against others only if fewer were accepted than have failed since', () => {
    const scene = new Scene();
    scene.sendMany(accepted, 4);
    scene.sendMany(unauthorised, 4);
    expect(scene.breaker.areOthersWell(1, scene.nowMs)).toBe(true);
    scene.send(unauthorised);
    expect(scene.breaker.areOthersWell(1, scene.nowMs)).toBe(false);
  });
});

describe('a failure before any device is named', () => {
  it('counts for untrusted devices too', () => {
    const scene = new Scene();
    scene.send(accepted);
    const outcomes = scene.sendMany(trouble('connection'), 5, untrusted);
    expect(outcomes.at(-1)).toBe('opened');
    expect(scene.breaker.fault).toMatchObject({ why: 'gateway' });
  });

  it('opens at once for a credential, or for a pause', () => {
    const scene = new Scene();
    expect(scene.send({ ...unauthorised, scope: 'connection' }, untrusted)).toBe('opened');
    const asked = new Scene();
    expect(asked.send(trouble('connection', 20_000), untrusted)).toBe('opened');
    expect(asked.wait()).toBe(20_000);
  });

  it('is over as soon as the gateway answers for any device', () => {
    for (const outcome of [accepted, refused, gone, unauthorised, trouble()]) {
      const scene = new Scene();
      scene.send(accepted);
      scene.sendMany(trouble('connection'), 5);
      scene.wait();
      expect(scene.untrustedWaitMs).toBe(0);
      expect(scene.send(outcome, untrusted)).toBe('closed');
    }
  });

  it('makes untrusted devices probes, with the pauses of all', () => {
    const scene = new Scene();
    scene.sendMany(trouble('connection'), 5, untrusted);
    const pauses = Array.from({ length: 4 }, () => {
      const ms = scene.untrustedWaitMs;
      scene.nowMs += ms;
      scene.send(trouble('connection'), untrusted);
      return ms;
    });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000]);
  });
});
