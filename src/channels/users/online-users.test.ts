import { describe, expect, it } from 'bun:test';
import type { App } from '../app.ts';
import { broadcast } from '../broadcast.ts';
import { appWith, hubWith, sessionOf } from '../hub.fixture.ts';
import { WebhookEvents } from '../lifecycle/webhook-events.ts';
import { OnlineUsers } from './online-users.ts';
import { watchTopic } from './watch-topic.ts';

/** Source: Channels protocol, §8.3; the 3 seconds are a choice. */

function stage(settings: Partial<App> = {}) {
  const hub = hubWith();
  const { audience, usage } = hub;
  const { clock, reported } = hub;
  const webhooks = new WebhookEvents({
    clock,
    usage,
    sink: { emit: (event) => void reported.push(event) },
  });
  const users = new OnlineUsers({
    timers: clock,
    notifyWatchers: (sent) => broadcast({ audience, usage }, sent),
    webhooks,
    lastSeenMax: 10,
  });
  const app = appWith(settings);
  const { peer } = sessionOf(app);
  audience.join(peer, watchTopic(app, 'ann'));
  let sinceMs = 0;
  return {
    clock,
    reported: () => reported.splice(0).map(({ event }) => event),
    users,
    app,
    comes: () => {
      sinceMs = users.came(app, 'ann');
      return sinceMs;
    },
    leaves: () => users.left(app, 'ann', sinceMs),
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
    const { comes, received } = stage();
    comes();
    expect(received()).toEqual([online]);
  });

  it.each([1, 3, 300])('are notified %d seconds after the user went offline', (offlineSeconds) => {
    const { app, clock, users, comes, leaves, received } = stage({ offlineSeconds });
    comes();
    received();
    leaves();
    clock.advance(1000 * offlineSeconds - 1);
    expect(received()).toEqual([]);
    expect(users.isLeaving(app, 'ann')).toBe(true);
    clock.advance(1);
    expect(received()).toEqual([offline]);
    expect(users.isLeaving(app, 'ann')).toBe(false);
    comes();
    expect(received()).toEqual([online]);
  });

  it('are notified at once of a user who went offline if the app waits for nobody', () => {
    const { app, users, comes, leaves, received } = stage({ offlineSeconds: 0 });
    comes();
    leaves();
    expect(received()).toEqual([online, offline]);
    expect(users.isLeaving(app, 'ann')).toBe(false);
  });

  it('are not notified of a user who returns in time', () => {
    const { clock, comes, leaves, received } = stage();
    comes();
    received();
    for (let n = 0; n < 5; n++) {
      leaves();
      clock.advance(2999);
      comes();
    }
    clock.advance(60_000);
    expect(received()).toEqual([]);
  });

  it('are notified of users who are leaving when the server stops', () => {
    const { users, comes, leaves, received } = stage();
    comes();
    leaves();
    users.flush();
    expect(received()).toEqual([online, offline]);
  });

  it('are not notified of other users, nor of users of other apps', () => {
    const { app, clock, users, received } = stage();
    users.came(app, 'bob');
    users.came(appWith({ id: 'other' }), 'ann');
    users.left(appWith({ id: 'other' }), 'ann', 0);
    clock.advance(60_000);
    expect(received()).toEqual([]);
  });
});

describe('the webhooks of an app', () => {
  const events = ['user_online', 'user_offline'] as const;
  const webhooks = [{ url: 'http://localhost/', events, batching: true }];
  const isOnline = { name: 'user_online', user_id: 'ann' } as const;

  it('are told of a user who comes online, and who goes offline with when they were last seen', () => {
    const { clock, comes, leaves, reported } = stage({ webhooks });
    comes();
    expect(reported()).toEqual([isOnline]);
    leaves();
    const lastSeenMs = clock.now();
    clock.advance(2999);
    expect(reported()).toEqual([]);
    clock.advance(1);
    expect(reported()).toEqual([
      { name: 'user_offline', user_id: 'ann', last_seen_ms: lastSeenMs },
    ]);
  });

  it('are told of users who are leaving when the server stops', () => {
    const { comes, leaves, users, reported } = stage({ webhooks });
    comes();
    leaves();
    users.flush();
    expect(reported().map(({ name }) => name)).toEqual(['user_online', 'user_offline']);
  });

  it('are told nothing of a user who returns in time, nor what they do not want', () => {
    const { clock, comes, leaves, reported } = stage({ webhooks, offlineSeconds: 10 });
    comes();
    reported();
    leaves();
    clock.advance(9999);
    comes();
    clock.advance(60_000);
    expect(reported()).toEqual([]);
    const without = stage();
    without.comes();
    without.leaves();
    without.users.flush();
    expect(without.reported()).toEqual([]);
  });
});

describe('the status of a user', () => {
  const unknown = { isOnline: false, sinceMs: undefined, lastSeenMs: undefined };

  it('is online since the first connection, also after a return in time', () => {
    const { app, clock, users, comes, leaves } = stage();
    const sinceMs = comes();
    expect(sinceMs).toBe(clock.now());
    leaves();
    clock.advance(2000);
    expect(users.statusOf(app, 'ann')).toEqual({ isOnline: true, sinceMs, lastSeenMs: undefined });
    expect(comes()).toBe(sinceMs);
    leaves();
    clock.advance(3000);
    expect(comes()).toBe(clock.now());
  });

  it('says when the last connection ended of a user who is offline', () => {
    const { app, clock, users, comes, leaves } = stage();
    expect(users.statusOf(app, 'ann')).toEqual(unknown);
    comes();
    clock.advance(10_000);
    leaves();
    const lastSeenMs = clock.now();
    clock.advance(5000);
    expect(users.statusOf(app, 'ann')).toEqual({ ...unknown, lastSeenMs });
    users.forgetApp(app.id);
    expect(users.statusOf(app, 'ann')).toEqual(unknown);
  });
});
