import { describe, expect, it } from 'bun:test';
import { PING } from '../../../channels/wire.ts';
import { FakeConnection } from '../connection.fixture.ts';
import type { ConnectionProblem } from './close-codes.ts';
import { checkHeartbeats } from './heartbeat.ts';

/** The defaults. */
const TIMES = { activityTimeoutSeconds: 120, pongTimeoutSeconds: 30 };

/** A ping of the WebSocket protocol, as the fake connection keeps it. */
const WS_PING = 'ping ';

/** A server with one client, whose checks come when the test says so. */
function stage({ hasPings = true } = {}) {
  const fake = new FakeConnection({ hasPings });
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
  it('is pinged after the activity timeout, by an event halfway, and ended after the pong timeout', () => {
    const { ended, checkAt } = stage();

    expect(checkAt(0, 60_000, 119_999)).toEqual([[], [], []]);
    expect(checkAt(120_000)).toEqual([[WS_PING]]);
    expect(checkAt(121_000, 134_999)).toEqual([[], []]);
    expect(checkAt(135_000)).toEqual([[PING]]);
    expect(checkAt(136_000, 149_999)).toEqual([[], []]);
    expect(ended).toEqual([]);
    checkAt(150_000);
    expect(ended).toEqual(['no-pong']);
  });

  it('is pinged once by an event where the transport has no pings', () => {
    const { ended, checkAt } = stage({ hasPings: false });

    expect(checkAt(119_999, 120_000)).toEqual([[], [PING]]);
    expect(checkAt(121_000, 135_000, 149_999)).toEqual([[], [], []]);
    expect(ended).toEqual([]);
    checkAt(150_000);
    expect(ended).toEqual(['no-pong']);
  });

  it('is ended only when it was asked in both ways, however late the checks are', () => {
    const { ended, checkAt } = stage();

    expect(checkAt(1_000_000)).toEqual([[WS_PING]]);
    expect(checkAt(1_060_000)).toEqual([[PING]]);
    expect(ended).toEqual([]);
    checkAt(1_061_000);
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
    expect(checkAt(120_000)).toEqual([[WS_PING]]);
    heardAt(149_999);

    expect(checkAt(150_000, 269_000)).toEqual([[], []]);
    expect(checkAt(270_000)).toEqual([[WS_PING]]);
    expect(ended).toEqual([]);
    checkAt(285_000, 300_000);
    expect(ended).toEqual(['no-pong']);
  });
});

describe('a client that sends nothing by itself for an hour', () => {
  const SECONDS = 3600;

  /** What it was asked, and when it was closed. It answers a second later, to what `answers` names. */
  function anHour(answers: string | undefined, hasPings = true) {
    const { fake, ended, checkAt, heardAt } = stage({ hasPings });
    const asked: string[] = [];
    let second = 0;
    for (; second < SECONDS && ended.length === 0; second++) {
      const [sent = []] = checkAt(second * 1000);
      asked.push(...sent);
      if (answers === undefined || !sent.includes(answers)) continue;
      if (answers === PING) fake.pongsOwed--;
      heardAt((second + 1) * 1000);
    }
    return { asked: new Set(asked), seconds: second };
  }

  it.each([
    ['answers only WebSocket pings', WS_PING, [WS_PING], SECONDS],
    ['answers only pusher:ping', PING, [WS_PING, PING], SECONDS],
    ['answers nothing', undefined, [WS_PING, PING], 151],
  ])('and %s', (_, answers, asked, seconds) => {
    expect(anHour(answers)).toEqual({ asked: new Set(asked), seconds });
  });

  it('and uses HTTP requests', () => {
    expect(anHour(PING, false)).toEqual({ asked: new Set([PING]), seconds: SECONDS });
    expect(anHour(undefined, false)).toEqual({ asked: new Set([PING]), seconds: 151 });
  });
});
