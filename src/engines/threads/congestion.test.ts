import { describe, expect, it } from 'bun:test';
import { FakeClock, settled } from '../../channels/hub.fixture.ts';
import { Congestion } from './congestion.ts';

/** Of loop 0 of three. */
function stage() {
  const timers = new FakeClock();
  const backlogs = [0, 0, 0];
  const congested = new Set<number>();
  const congestion = new Congestion({
    loop: 0,
    loops: 3,
    others: {
      backlog: (loop) => backlogs[loop] ?? 0,
      isCongested: (loop) => congested.has(loop),
      setCongested: (isCongested) => (isCongested ? congested.add(0) : congested.delete(0)),
    },
    timers,
  });
  return { timers, backlogs, congested, congestion };
}

describe('publishers', () => {
  it('do not wait while all loops keep up', () => {
    const { backlogs, congestion } = stage();
    expect(congestion.pass()).toBeUndefined();
    backlogs[1] = 4096;
    expect(congestion.pass()).toBeUndefined();
  });

  it('wait while one loop is behind, until it has caught up by half', async () => {
    const { timers, backlogs, congestion } = stage();
    backlogs[1] = 4097;
    let passed = 0;
    for (let n = 0; n < 3; n++) void Promise.resolve(congestion.pass()).then(() => passed++);
    backlogs[1] = 2049;
    timers.advance(100);
    // Others that come meanwhile wait too.
    void Promise.resolve(congestion.pass()).then(() => passed++);
    await settled();
    expect(passed).toBe(0);
    backlogs[1] = 2048;
    timers.advance(2);
    await settled();
    expect(passed).toBe(4);
    expect(congestion.pass()).toBeUndefined();
  });

  it('tell the publishers of other loops that they wait', async () => {
    const { timers, backlogs, congested, congestion } = stage();
    backlogs[2] = 4097;
    void congestion.pass();
    expect(congested.has(0)).toBe(true);
    backlogs[2] = 2048;
    timers.advance(2);
    expect(congested.has(0)).toBe(false);
  });

  it('wait for a home that is behind with events, and only those that publish to it', async () => {
    const { timers, backlogs, congested, congestion } = stage();
    backlogs[1] = 256;
    expect(congestion.passTo(1)).toBeUndefined();
    backlogs[1] = 257;
    let hasPassed = false;
    void Promise.resolve(congestion.passTo(1)).then(() => {
      hasPassed = true;
    });
    expect(congestion.passTo(2)).toBeUndefined();
    expect(congestion.pass()).toBeUndefined();
    expect(congested.size).toBe(0);
    backlogs[1] = 129;
    timers.advance(2);
    await settled();
    expect(hasPassed).toBe(false);
    backlogs[1] = 128;
    timers.advance(2);
    await settled();
    expect(hasPassed).toBe(true);
  });

  it('wait for a home whose own loops cannot keep up', async () => {
    const { timers, congested, congestion } = stage();
    congested.add(1);
    let hasPassed = false;
    void Promise.resolve(congestion.passTo(1)).then(() => {
      hasPassed = true;
    });
    timers.advance(2);
    await settled();
    expect(hasPassed).toBe(false);
    congested.delete(1);
    timers.advance(2);
    await settled();
    expect(hasPassed).toBe(true);
  });
});
