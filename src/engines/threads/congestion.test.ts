import { describe, expect, it } from 'bun:test';
import { FakeClock, settled } from '../../channels/hub.fixture.ts';
import { Congestion } from './congestion.ts';

function stage() {
  const timers = new FakeClock();
  const backlogs = [0, 0];
  const congestion = new Congestion({
    loops: [0, 1],
    backlog: (loop) => backlogs[loop] ?? 0,
    timers,
  });
  return { timers, backlogs, congestion };
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
});
