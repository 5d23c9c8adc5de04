import { describe, expect, it } from 'bun:test';
import type { DeviceStory } from '../model/delivery.ts';
import { newDeviceId } from '../model/device-id.ts';
import type { LiveSkip, LiveStatus } from '../model/live.ts';
import { NO_COUNTS, type PublishStatus } from '../model/publish.ts';
import { newPublishId } from '../model/publish-id.ts';
import { explain } from './explain.ts';
import { outcomeOf } from './timeline.ts';

const NOW_MS = Date.UTC(2026, 10, 24, 10);

const LIVE: LiveStatus = {
  state: 'done',
  push: 'absent',
  waitSeconds: 4,
  users: 1,
  reached: 0,
  silent: 0,
  absent: 0,
  connections: 0,
  why: undefined,
};

type User = NonNullable<DeviceStory['live']>;

function explained(
  live: Partial<LiveStatus>,
  user?: Partial<User>,
  story: Partial<DeviceStory> = {},
) {
  const status: PublishStatus = {
    id: newPublishId(NOW_MS),
    state: 'delivering',
    createdAtMs: NOW_MS,
    sendAtMs: undefined,
    platforms: { apns: NO_COUNTS, fcm: NO_COUNTS, web: NO_COUNTS },
    live: { ...LIVE, ...live },
    delivered: 0,
    opened: 0,
    reasons: [],
  };
  const of = {
    userId: 'ann',
    state: 'absent',
    connections: 0,
    answeredAfterMs: undefined,
  } as const;
  return explain(
    {
      platform: 'fcm',
      kind: 'users',
      page: 'waiting',
      registeredAtMs: NOW_MS - 1000,
      removed: undefined,
      matches: true,
      hasPayload: true,
      nextAttemptAtMs: undefined,
      events: [],
      live: user && { ...of, atMs: NOW_MS + 200, ...user },
      ...story,
    },
    status,
    { deviceId: newDeviceId('fcm'), nowMs: NOW_MS + 300, pauses: [] },
  );
}

describe('the explanation of a device', () => {
  it('says that its user got it in the app, so no notification was sent', () => {
    const user = { state: 'reached', connections: 2, answeredAfterMs: 212 } as const;
    const explanation = explained({}, user, { page: 'none' });
    expect(outcomeOf(explanation)).toEqual({
      atMs: NOW_MS + 200,
      what: 'live-reached',
      detail:
        'The user got it in the app: one of 2 connections answered after 0.2 s. No notification was sent.',
      advice: 'With `"push": "always"` in `live`, both are sent.',
    });
    expect(explanation.events.map(({ what }) => what)).not.toContain('not-in-audience');
  });

  it('continues with the notification if both are sent', () => {
    const user = { state: 'reached', connections: 1, answeredAfterMs: 5 } as const;
    const explanation = explained({ push: 'always' }, user);
    const reached = explanation.events.find(({ what }) => what === 'live-reached');
    expect(reached?.detail).toBe(
      'The user got it in the app: its connection answered after 0.0 s.',
    );
    expect(outcomeOf(explanation)?.what).toBe('waiting');
  });

  it.each([
    [
      { state: 'silent', connections: 1 },
      'live-silent',
      'The user had one connection, which did not answer within 4 s, as where a phone sleeps. So the notification is sent.',
    ],
    [
      { state: 'silent', connections: 3 },
      'live-silent',
      'The user had 3 connections, and none of them answered within 4 s, as where a phone sleeps. So the notification is sent.',
    ],
    [
      { state: 'absent' },
      'live-absent',
      'The user had no connection in the channel, so the notification is sent.',
    ],
  ] as const)('of a user who is %p says %s', (user, what, detail) => {
    const explanation = explained({}, user);
    expect(explanation.events.find((event) => event.what === what)?.detail).toBe(detail);
    expect(outcomeOf(explanation)?.what).toBe('waiting');
  });

  it.each([
    'app-disabled',
    'over-quota',
    'engine-away',
    'too-many',
    'not-allowed',
  ] satisfies readonly LiveSkip[])('says why nobody was asked: %s', (why) => {
    const { events } = explained({ state: 'skipped', why });
    const skipped = events.find(({ what }) => what === 'live-skipped');
    expect(skipped?.detail).toMatch(/^The user was not asked in the app: .+\. Everybody gets the/);
  });

  it('does not say that nobody was asked if the answers are lost', () => {
    const { events } = explained({ state: 'skipped', why: 'no-result' });
    const skipped = events.find(({ what }) => what === 'live-skipped');
    expect(skipped?.detail).toMatch(
      /^It is unknown whether the user got it in the app: the answers/,
    );
  });

  it('says that the user is being asked', () => {
    const { events } = explained({ state: 'asking' }, undefined, { page: 'ahead' });
    expect(events.at(-1)).toMatchObject({
      what: 'waiting',
      detail: expect.stringContaining('asks the connections of the users'),
    });
  });
});
