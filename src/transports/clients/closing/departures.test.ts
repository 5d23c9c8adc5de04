import { describe, expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { appWith, hubWith, sessionOf, subscriptionTo } from '../../../channels/hub.fixture.ts';
import type { Exit } from '../../../channels/ports.ts';
import { LocalChannels } from '../../../channels/subscribing/local-channels.ts';
import type { Session } from '../../../channels/subscribing/session.ts';
import { subscribe } from '../../../channels/subscribing/subscribe.ts';
import { Departures } from './departures.ts';

function stage(subscriptionsMax?: number) {
  const exits: Exit[] = [];
  const app = appWith({ id: 'loud' });
  const open: Session[] = [];
  const end = () => {
    const session = open.pop();
    if (session === undefined) throw new Error('All have ended');
    departures.add(session);
  };
  const fake = hubWith();
  fake.memory.leave = (exit) => void exits.push(exit);
  const hub = {
    ...fake,
    channels: new LocalChannels(subscriptionsMax),
    endConnectionOf: end,
    hastenDepartures: () => departures.hasten(),
  };
  const departures = new Departures(hub, (_, error) => {
    throw error;
  });
  /** Opens connections that are in `channels` channels each. */
  const connect = (count: number, channels: number) => {
    for (let n = 0; n < count; n++) {
      const session = sessionOf(app, `${n}.1`);
      for (let channel = 0; channel < channels; channel++) {
        const subscription = subscriptionTo(app, `c-${channel}`);
        hub.channels.enter(app, subscription.channel, undefined);
        session.add(subscription);
      }
      open.push(session);
    }
  };
  return { exits, hub, departures, open, connect, end };
}

describe('connections that have ended', () => {
  for (const channels of [10, 500]) {
    it(`leave ${channels} channels each at once, and after 1,000 in all in later turns of the loop`, async () => {
      const { exits, departures, open, connect, end } = stage();
      connect(3500 / channels, channels);
      const sessions = [...open];
      while (open.length > 0) end();
      expect(sessions.every(({ closed }) => closed)).toBe(true);

      const left = [exits.length];
      for (let turn = 0; turn < 4; turn++) {
        await nextTurn();
        left.push(exits.length);
      }
      expect(left).toEqual([1000, 2000, 3000, 3500, 3500]);
      await departures.done();
      expect(sessions.every(({ subscriptionCount }) => subscriptionCount === 0)).toBe(true);
    });
  }

  it('leave at once again in a later turn of the loop', async () => {
    const { exits, departures, connect, end } = stage();
    connect(2, 1000);
    end();
    await departures.done();
    end();
    expect(exits).toHaveLength(2000);
  });

  it('make room before another connection is ended', () => {
    const { hub, open, connect, end } = stage(4000);
    connect(4, 1000);
    // It leaves all that may be left in this turn.
    end();
    const app = appWith();
    for (let n = 0; n < 1300; n++) {
      const message = { channel: `c-${n}`, auth: undefined, channelData: undefined };
      void subscribe(hub, sessionOf(app, `${10 + n}.1`), { type: 'subscribe', ...message });
    }
    expect(open).toHaveLength(2);
  });
});
