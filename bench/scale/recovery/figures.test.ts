import { describe, expect, it } from 'bun:test';
import { check } from '../../../src/verify/check/check.ts';
import type { Recovery } from '../../../src/verify/check/verdict.ts';
import type { FaultKind, Line } from '../../../src/verify/history/line.ts';
import { evidenceOf, printRecovery } from './figures.ts';

const CLIENTS = 4;

/** Clients in one channel, of which the first ones lose their connections by a fault. */
class MadeHistory {
  private readonly lines: Line[] = [];
  private readonly connections = new Map<number, number>();

  constructor() {
    for (let c = 1; c <= CLIENTS; c++) this.comes(0, c);
  }

  /** `lost`: seconds until the first client, the second and so on have lost theirs; `back`: until each is subscribed again. */
  fault(
    atSeconds: number,
    { what = 'kill', lost, back }: { what?: FaultKind; lost: number[]; back: number[] },
  ): this {
    const t = atSeconds * 1000;
    this.say(t, 'fault', { what });
    for (const [at, seconds] of lost.entries()) {
      const c = at + 1;
      this.say(t + seconds * 1000, 'close', { c, n: this.connections.get(c), code: 1006 });
    }
    for (const [at, seconds] of back.entries()) this.comes(t + seconds * 1000, at + 1);
    return this;
  }

  recovered(): readonly Recovery[] {
    const lines = this.lines.toSorted((a, b) => a.t - b.t);
    const last: Line = { op: 'calm', t: (lines.at(-1)?.t ?? 0) + 20_000 };
    const header = { by: 'a test', app: '1', T: 5000, rules: { kept: [], replay: [] } } as const;

    return check({ header: { history: 1, webhooks: false, ...header }, lines: [...lines, last] })
      .recovered;
  }

  private comes(t: number, c: number): void {
    const n = (this.connections.get(c) ?? 0) + 1;
    this.connections.set(c, n);
    this.say(t, 'open', { c, n, socket: `${c}.${n}` });
    this.say(t, 'subscribe', { c, n, ch: 'news' });
    this.say(t, 'subscribed', { c, n, ch: 'news' });
  }

  private say(t: number, op: Line['op'], fields: object): void {
    this.lines.push({ op, t, ...fields } as Line);
  }
}

const rowOf = (recovered: readonly Recovery[]) => ({
  ...{ scene: 'kills: one server', isRun: true, load: 1 },
  recovered,
});

describe('a row of recovery', () => {
  it('has the medians of all faults until the first, half and all clients were right again, and the slowest fault', () => {
    const recovered = new MadeHistory()
      .fault(10, { lost: [0.1, 0.2, 0.2], back: [0.5, 1.5, 3] })
      .fault(40, { lost: [0.1, 0.1, 0.1], back: [9, 1, 2] })
      .fault(70, { lost: [0.4], back: [4] })
      .recovered();
    expect(recovered).toEqual([
      { t: 10_000, first: 0.5, median: 1.5, seconds: 3 },
      { t: 40_000, first: 1, median: 2, seconds: 9 },
      { t: 70_000, first: 4, median: 4, seconds: 4 },
    ]);
    const [, head = '', row = ''] = printRecovery([rowOf(recovered)])
      .split('\n')
      .slice(-3);
    expect(head.trim().split(/ +/)).toEqual(['faults', 'first', 'half', 'all', 'slowest']);
    expect(row.trim().split(/ {2,}/).slice(1)).toEqual(['3', '1.0', '2.0', '4.0', '9.0']);
    expect(evidenceOf(rowOf(recovered), 3).figures).toMatchObject({
      ...{ faults: 3, first: '1.0 s', half: '2.0 s', all: '4.0 s', slowest: '9.0 s' },
    });
  });

  it('says never if a client was not right again', () => {
    const recovered = new MadeHistory().fault(10, { lost: [0.1, 0.1], back: [0.5] }).recovered();
    const { figures } = evidenceOf(rowOf(recovered), 1);
    expect(figures).toMatchObject({ first: '0.5 s', all: 'never', slowest: 'never' });
  });

  it('waits until a client has noticed the end of a server, which takes seconds on a busy machine', () => {
    const what = 'power';
    const recovered = new MadeHistory().fault(10, { what, lost: [2, 2], back: [4, 5] }).recovered();
    expect(recovered).toEqual([{ t: 10_000, first: 4, median: 4, seconds: 5 }]);
  });

  it('counts what servers do 5 s after Redis has lost its data', () => {
    const what = 'redis-lost';
    const recovered = new MadeHistory().fault(10, { what, lost: [4.9], back: [5.5] }).recovered();
    expect(recovered).toEqual([{ t: 10_000, first: 5.5, median: 5.5, seconds: 5.5 }]);
  });
});
