import { describe, expect, it } from 'bun:test';
import { broadcast } from '../broadcast.ts';
import { appWith, FakeClock, hubWith, sessionOf } from '../hub.fixture.ts';
import { WatchlistEvents, watchTopic } from './watchlist-events.ts';

/** Source: Channels protocol, §8.3; the 3 seconds are a choice. */

function stage() {
  const { audience, usage } = hubWith();
  const clock = new FakeClock();
  const watchlists = new WatchlistEvents(clock, (sent) => broadcast({ audience, usage }, sent));
  const app = appWith();
  const { peer } = sessionOf(app);
  audience.join(peer, watchTopic(app, 'ann'));
  return {
    clock,
    watchlists,
    app,
    received: () =>
      peer.frames.splice(0).flatMap((frame) => {
        const { event, data } = JSON.parse(frame);
        expect(event).toBe('pusher_internal:watchlist_events');
        return JSON.parse(data).events;
      }),
  };
}

const online = { name: 'online', user_ids: ['ann'] };
const offline = { name: 'offline', user_ids: ['ann'] };

describe('the watchers of a user', () => {
  it('are notified at once when the user comes online', () => {
    const { app, watchlists, received } = stage();
    watchlists.online(app, 'ann');
    expect(received()).toEqual([online]);
  });

  it('are notified 3 seconds after the user went offline', () => {
    const { app, clock, watchlists, received } = stage();
    watchlists.offline(app, 'ann');
    clock.advance(2999);
    expect(received()).toEqual([]);
    expect(watchlists.isLeaving(app, 'ann')).toBe(true);
    clock.advance(1);
    expect(received()).toEqual([offline]);
    expect(watchlists.isLeaving(app, 'ann')).toBe(false);
    watchlists.online(app, 'ann');
    expect(received()).toEqual([online]);
  });

  it('are not notified of a user who returns within 3 seconds', () => {
    const { app, clock, watchlists, received } = stage();
    for (let n = 0; n < 5; n++) {
      watchlists.offline(app, 'ann');
      clock.advance(2999);
      watchlists.online(app, 'ann');
    }
    clock.advance(60_000);
    expect(received()).toEqual([]);
  });

  it('are not notified of other users, nor of users of other apps', () => {
    const { app, clock, watchlists, received } = stage();
    watchlists.online(app, 'bob');
    watchlists.online(appWith({ id: 'other' }), 'ann');
    watchlists.offline(appWith({ id: 'other' }), 'ann');
    clock.advance(60_000);
    expect(received()).toEqual([]);
  });
});
