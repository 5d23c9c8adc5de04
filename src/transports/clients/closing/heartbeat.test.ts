import { describe, expect, it } from 'bun:test';
import { PING } from '../../../channels/wire.ts';
import { FakeConnection } from '../connection.fixture.ts';
import type { ConnectionProblem } from './close-codes.ts';
import { checkHeartbeats } from './heartbeat.ts';

const TIMES = { activityTimeoutSeconds: 120, pongTimeoutSeconds: 30 };

/** A server with one client, whose checks come when the test says so. */
function stage(heardAt = 0) {
  const fake = new FakeConnection({ heardAtMs: heardAt });
  const ended: ConnectionProblem[] = [];
  return {
    fake,
    ended,
    /** What the client was sent at each of these times. */
    checkAt(...timesMs: number[]): readonly string[][] {
      return timesMs.map((nowMs) => {
        checkHeartbeats([fake], nowMs, TIMES, (_, problem) => ended.push(problem));
        return fake.sent.splice(0);
      });
    },
    heardAt(nowMs: number) {
      fake.heardAtMs = nowMs;
      fake.pingedAtMs = 0;
    },
  };
}

describe('a silent client', () => {
  it('is pinged once after the activity timeout, and ended after the pong timeout', () => {
    const { ended, checkAt } = stage();

    expect(checkAt(0, 60_000, 119_999)).toEqual([[], [], []]);
    expect(checkAt(120_000)).toEqual([[PING]]);
    expect(checkAt(121_000, 149_999)).toEqual([[], []]);
    expect(ended).toEqual([]);
    checkAt(150_000);
    expect(ended).toEqual(['no-pong']);
  });

  it('has the whole pong timeout from the ping on, however late the ping was', () => {
    const { ended, checkAt } = stage();

    expect(checkAt(1_000_000)).toEqual([[PING]]);
    checkAt(1_001_000, 1_029_999);
    expect(ended).toEqual([]);
    checkAt(1_030_000);
    expect(ended).toEqual(['no-pong']);
  });

  it('is not pinged when it sends something in time', () => {
    const { ended, heardAt, checkAt } = stage();
    for (let nowMs = 0; nowMs < 1_000_000; nowMs += 119_000) {
      heardAt(nowMs);
      expect(checkAt(nowMs + 118_999)).toEqual([[]]);
    }
    expect(ended).toEqual([]);
  });

  it('is pinged again when it has answered', () => {
    const { ended, heardAt, checkAt } = stage();
    expect(checkAt(120_000)).toEqual([[PING]]);
    heardAt(149_999);

    expect(checkAt(150_000, 269_000)).toEqual([[], []]);
    expect(checkAt(270_000)).toEqual([[PING]]);
    expect(ended).toEqual([]);
    checkAt(300_000);
    expect(ended).toEqual(['no-pong']);
  });
});
