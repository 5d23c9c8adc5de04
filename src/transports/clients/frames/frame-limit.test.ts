import { describe, expect, it } from 'bun:test';
import type { App, AppLimits } from '../../../channels/app.ts';
import { appWith } from '../../../channels/hub.fixture.ts';
import { FakeConnection } from '../connection.fixture.ts';
import { FrameLimit, type FrameVerdict } from './frame-limit.ts';

function stage(settings: Partial<App> = {}, limits: Partial<AppLimits> = {}, framesPerSecond = 10) {
  const plain = appWith({ clientEvents: false, ...settings });
  const connection = new FakeConnection({
    app: { ...plain, limits: { ...plain.limits, ...limits } },
  });
  const limit = new FrameLimit(framesPerSecond);
  return {
    limit,
    connection,
    /** Counts frames; returns each verdict with how often it came in a row. */
    send: (frames: number, bytes = 0) => {
      const verdicts: [FrameVerdict, number][] = [];
      for (let n = 0; n < frames; n++) {
        const verdict = limit.count(connection, bytes);
        const last = verdicts.at(-1);
        if (last?.[0] === verdict) last[1]++;
        else verdicts.push([verdict, 1]);
      }
      return verdicts;
    },
    pass: (seconds: number) => limit.pay(connection, seconds),
  };
}

describe('the frames of a connection', () => {
  it('are answered up to a burst, then dropped with one warning, then close it', () => {
    const { send } = stage();
    expect(send(250)).toEqual([
      ['answer', 100],
      ['warn', 1],
      ['drop', 99],
      ['close', 50],
    ]);
  });

  it('are answered for ever at the rate itself', () => {
    const { send, pass } = stage();
    send(100);
    for (let second = 0; second < 1000; second++) {
      pass(1);
      expect(send(10)).toEqual([['answer', 10]]);
    }
  });

  it('are answered again when the client slows down, and it is warned anew', () => {
    const { send, pass } = stage();
    expect(send(102).at(-1)).toEqual(['drop', 1]);
    pass(1);
    expect(send(1)).toEqual([['answer', 1]]);
    expect(send(9)).toEqual([
      ['answer', 7],
      ['drop', 2],
    ]);
    pass(1000);
    expect(send(101)).toEqual([
      ['answer', 100],
      ['warn', 1],
    ]);
  });

  it('count by their size too', () => {
    const { send } = stage();
    expect(send(11, 65_536)).toEqual([
      ['answer', 5],
      ['warn', 1],
      ['drop', 5],
    ]);
  });

  it('may be as many more as the app allows client events', () => {
    const { send } = stage({ clientEvents: true }, { clientEventsPerSecond: 90 });
    expect(send(1001)[0]).toEqual(['answer', 1000]);
  });

  it('may be enough at once for all channels that a connection may have', () => {
    const { send } = stage({}, { channelsPerConnection: 300 });
    expect(send(700)[0]).toEqual(['answer', 600]);
  });

  it('are not limited if the setting or the client events of the app are not', () => {
    for (const { send } of [
      stage({}, {}, 0),
      stage({ clientEvents: true }, { clientEventsPerSecond: 0 }),
    ]) {
      expect(send(100_000)).toEqual([['answer', 100_000]]);
    }
  });
});
