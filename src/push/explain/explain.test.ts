import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { OpenCircuit } from '../delivering/ports.ts';
import type { DeviceEvent, DeviceStory } from '../model/delivery.ts';
import { type DeviceId, platforms } from '../model/device.ts';
import { newDeviceId } from '../model/device-id.ts';
import type { PlatformCounts, PublishState, PublishStatus } from '../model/publish.ts';
import { newPublishId } from '../model/publish-id.ts';
import { explain } from './explain.ts';
import { explanationJson, type TimelineEvent, timelineWhats } from './timeline.ts';

const PUBLISHED_MS = Date.UTC(2026, 10, 21, 3);
const REGISTERED_MS = PUBLISHED_MS - 3_600_000;
const NOW_MS = PUBLISHED_MS + 10_000;
const DEVICE: DeviceId = newDeviceId('fcm');

const NONE: PlatformCounts = {
  planned: 0,
  accepted: 0,
  retrying: 0,
  failed: 0,
  pruned: 0,
  expired: 0,
  cancelled: 0,
};

const STATUS: PublishStatus = {
  id: newPublishId(PUBLISHED_MS),
  state: 'delivering',
  createdAtMs: PUBLISHED_MS,
  sendAtMs: undefined,
  platforms: { apns: NONE, fcm: NONE, web: NONE },
  delivered: 0,
  opened: 0,
  reasons: [],
};

const STORY: DeviceStory = {
  platform: 'fcm',
  kind: 'interests',
  page: 'delivered',
  registeredAtMs: REGISTERED_MS,
  removed: undefined,
  matches: true,
  hasPayload: true,
  nextAttemptAtMs: undefined,
  events: [],
};

interface Scene {
  readonly story?: Partial<DeviceStory>;
  readonly status?: Partial<PublishStatus>;
  readonly nowMs?: number;
  readonly pauses?: readonly OpenCircuit[];
}

function explained({ story, status, nowMs = NOW_MS, pauses = [] }: Scene) {
  const told = { ...STORY, ...story };
  return explain(told, { ...STATUS, ...status }, { deviceId: DEVICE, nowMs, pauses });
}

/** What is told beside that the device registered and that the publish was accepted. */
function news(scene: Scene): readonly TimelineEvent[] {
  return explained(scene).events.filter(
    ({ what }) => what !== 'registered' && what !== 'published',
  );
}

/** The only thing that is told. */
function only(scene: Scene): TimelineEvent {
  const [event, ...more] = news(scene);
  if (event === undefined || more.length > 0) throw new Error(JSON.stringify([event, ...more]));
  return event;
}

const happened = (what: DeviceEvent['what'], changes: Partial<DeviceEvent> = {}): DeviceEvent => ({
  atMs: PUBLISHED_MS + 1000,
  what,
  reason: '',
  words: '',
  attempts: 1,
  ...changes,
});

const containing = (text: string) => expect.stringContaining(text) as unknown as string;

describe('the timeline of a device', () => {
  it('begins with the registration and the publish, in the order of time', () => {
    expect(explained({})).toEqual({
      deviceId: DEVICE,
      platform: 'fcm',
      events: [
        {
          atMs: REGISTERED_MS,
          what: 'registered',
          detail: 'The device registered.',
          advice: undefined,
        },
        {
          atMs: PUBLISHED_MS,
          what: 'published',
          detail: 'The publish was accepted by this server.',
          advice: undefined,
        },
      ],
    });
    const late = explained({ story: { registeredAtMs: NOW_MS, page: 'none' } });
    expect(late.events.map(({ what }) => what)).toEqual([
      'published',
      'registered',
      'not-in-audience',
    ]);
  });

  it('is written as JSON with times in UTC, and null where there is none', () => {
    const told = explained({ story: { page: 'waiting' } });
    expect(explanationJson(told)).toMatchObject({
      deviceId: DEVICE,
      platform: 'fcm',
      events: [
        { at: '2026-11-21T02:00:00.000Z', what: 'registered', advice: null },
        { at: '2026-11-21T03:00:00.000Z', what: 'published' },
        { at: null, what: 'waiting' },
      ],
    });
  });
});

describe('a device that is not in the audience', () => {
  const outside = (story: Partial<DeviceStory>, status: Partial<PublishStatus> = {}) =>
    only({ story: { page: 'none', ...story }, status });

  it('has no payload for its platform', () => {
    expect(outside({ hasPayload: false, matches: false })).toEqual({
      atMs: undefined,
      what: 'not-in-audience',
      detail: containing('there is no `fcm` in it'),
      advice: containing('Publish with `fcm`'),
    });
  });

  it('registered after the publish went out', () => {
    const detail = containing('registered after the publish went out, at 2026-11-21T03:00:00.000Z');
    expect(outside({ registeredAtMs: PUBLISHED_MS + 1 })).toMatchObject({ detail });
    const [, told] = news({
      story: { page: 'none', registeredAtMs: PUBLISHED_MS + 1 },
      status: { sendAtMs: PUBLISHED_MS + 5000 },
    });
    // Before it went out, so that is not why.
    expect(told?.detail).not.toContain('registered after');
  });

  it('is subscribed to none of the interests, or belongs to another user', () => {
    expect(outside({ matches: false }).detail).toContain('any of the interests');
    expect(outside({ matches: false, kind: 'users' })).toMatchObject({
      detail: containing('none of the users'),
      advice: containing('setUserId'),
    });
  });

  it('was one of so many names that they are forgotten', () => {
    expect(outside({ matches: undefined }).detail).toContain('so many interests');
    expect(outside({ matches: undefined, kind: 'users' }).detail).toContain('so many users');
  });

  it('has subscribed since then', () => {
    expect(outside({ matches: true }).detail).toContain('since then');
  });

  it('was removed before, or was not for it and is gone', () => {
    const removed = { atMs: PUBLISHED_MS - 1, reason: 'UNREGISTERED', words: '' };
    const gone = (atMs: number) =>
      news({ story: { page: 'none', matches: false, removed: { ...removed, atMs } } });
    expect(gone(PUBLISHED_MS - 1)).toMatchObject([
      { what: 'removed', atMs: PUBLISHED_MS - 1, detail: containing('(UNREGISTERED)') },
      { what: 'not-in-audience', detail: containing('removed before') },
    ]);
    expect(gone(PUBLISHED_MS + 1)[1]?.detail).toContain('not known any more');
  });
});

describe('a device that waits', () => {
  it('is not come to yet while the audience is looked up', () => {
    expect(only({ story: { page: 'ahead' }, status: { state: 'planning' } })).toMatchObject({
      what: 'waiting',
      detail: containing('has not been come to yet'),
      advice: undefined,
    });
    expect(
      only({ story: { page: 'ahead', matches: false }, status: { state: 'planning' } }).what,
    ).toBe('not-in-audience');
    const removed = { atMs: PUBLISHED_MS + 1, reason: 'UNREGISTERED', words: '' };
    const [, gone] = news({ story: { page: 'ahead', matches: false, removed } });
    expect(gone?.detail).toContain('removed before');
  });

  it('has a publish that goes out later', () => {
    const sendAtMs = NOW_MS + 60_000;
    const told = news({
      story: { page: 'ahead' },
      status: { state: 'scheduled', sendAtMs },
    });
    expect(told).toMatchObject([
      { atMs: sendAtMs, what: 'scheduled', detail: 'The publish is to go out then.' },
      { atMs: undefined, what: 'waiting', detail: containing('when it goes out') },
    ]);
    const [scheduled] = news({ status: { sendAtMs }, nowMs: sendAtMs });
    expect(scheduled?.detail).toBe('The publish was to go out then.');
  });

  it('is in a page, which is worth looking into after a minute', () => {
    const at = (nowMs: number) => only({ story: { page: 'waiting' }, nowMs });
    expect(at(PUBLISHED_MS + 60_000).advice).toBeUndefined();
    expect(at(PUBLISHED_MS + 60_001).advice).toContain('/metrics');
  });

  it('hears of gateways of its platform that are paused', () => {
    const pause: OpenCircuit = {
      instance: 1,
      platform: 'fcm',
      origin: undefined,
      why: 'credential',
      reason: 'PERMISSION_DENIED',
      words: 'No permission',
      sinceMs: PUBLISHED_MS + 500,
    };
    const told = (story: Partial<DeviceStory>, state: PublishState = 'delivering') =>
      news({ story, status: { state }, pauses: [pause, { ...pause, platform: 'apns' }] });
    expect(told({ page: 'waiting' })).toMatchObject([
      {
        atMs: pause.sinceMs,
        what: 'gateway-paused',
        detail:
          'Since then, nothing is sent to the gateway but a probe now and then. It does not accept who sends: the service account may not send for its project (PERMISSION_DENIED). Its words: "No permission".',
        advice: containing('Enable the Firebase'),
      },
      { what: 'waiting' },
    ]);
    const retry = { nextAttemptAtMs: NOW_MS, events: [happened('retry')] };
    expect(told(retry).map(({ what }) => what)).toEqual(['gateway-paused', 'retry']);
    expect(told({ page: 'ahead' }, 'planning')).toHaveLength(2);
    // It does not matter to those who have their outcome, or are never sent to.
    expect(told({ events: [happened('accepted')] })).toHaveLength(1);
    expect(told({ page: 'ahead', matches: false })).toHaveLength(1);
    expect(told({ page: 'waiting' }, 'cancelled')).toHaveLength(1);
  });

  it('hears which push service is paused, where that can be told', () => {
    const detail = (origin: string) => {
      const pause = {
        instance: 1,
        why: 'gateway',
        reason: 'silence',
        words: '',
        sinceMs: 0,
      } as const;
      const pauses = [{ ...pause, platform: 'web' as const, origin }];
      return news({ story: { page: 'waiting', platform: 'web' }, pauses })[0]?.detail;
    };
    expect(detail('https://push.example.net')).toContain('to https://push.example.net but');
    expect(detail('https://push.example.net')).toContain('browsers that have that push service');
    expect(detail('others')).toContain('to some push services but');
  });
});

describe('a publish that was cancelled', () => {
  const status = { state: 'cancelled' } as const;

  it('is told whatever it had come to', () => {
    const whats = (story: Partial<DeviceStory>) =>
      news({ story, status }).map(({ atMs, what }) => [atMs, what]);
    expect(whats({ page: 'cancelled' })).toEqual([[undefined, 'cancelled']]);
    expect(whats({ page: 'ahead' })).toEqual([[undefined, 'cancelled']]);
    expect(whats({ page: 'ahead', matches: false })).toEqual([
      [undefined, 'cancelled'],
      [undefined, 'not-in-audience'],
    ]);
    expect(whats({ page: 'none', matches: false })).toEqual([[undefined, 'not-in-audience']]);
    const events = [
      happened('retry', { reason: 'silence' }),
      happened('cancelled', { reason: 'silence', atMs: NOW_MS }),
    ];
    expect(whats({ events })).toEqual([
      [PUBLISHED_MS + 1000, 'retry'],
      [NOW_MS, 'cancelled'],
    ]);
  });

  it('may still go out to devices that were just being sent to', () => {
    expect(only({ story: { page: 'waiting' }, status }).detail).toContain('just going out');
  });
});

describe('what the gateway said', () => {
  it('is that it has taken it; after that, the device is to be looked at', () => {
    const event = happened('accepted');
    expect(only({ story: { events: [event] } })).toEqual({
      atMs: event.atMs,
      what: 'accepted',
      detail: 'FCM has taken it.',
      advice: containing('between Google and the device'),
    });
    const again = happened('accepted', { attempts: 3, reason: 'UNAVAILABLE' });
    expect(only({ story: { events: [again] } }).detail).toBe(
      'FCM has taken it, at attempt 3. Before that: FCM has trouble of its own (UNAVAILABLE).',
    );
  });

  it('is followed by what the device reported', () => {
    const events = [
      happened('accepted'),
      happened('delivered', { atMs: NOW_MS }),
      happened('opened', { atMs: NOW_MS + 1 }),
    ];
    const told = news({ story: { events } });
    expect(told.map(({ what, advice }) => [what, advice])).toEqual([
      ['accepted', undefined],
      ['delivered', undefined],
      ['opened', undefined],
    ]);
    const [, delivered] = news({ story: { events: events.slice(0, 2) } });
    expect(delivered?.advice).toContain('If nothing was shown');
  });

  it('is why it is tried again, and when', () => {
    const events = [happened('retry', { reason: 'no-answer', attempts: 2 })];
    const next = (nextAttemptAtMs: number) => only({ story: { events, nextAttemptAtMs } }).detail;
    expect(next(NOW_MS + 1)).toBe(
      'Tried twice so far: the gateway did not answer this one in time, and may have taken it (no-answer). The next attempt is due at 2026-11-21T03:00:10.001Z.',
    );
    expect(next(NOW_MS)).toEndWith(' The next attempt is due.');
    const untried = happened('retry', { reason: 'waited-for-its-turn', attempts: 0 });
    expect(only({ story: { events: [untried] } }).detail).toStartWith('Not tried yet: others');
    const often = happened('retry', { reason: 'silence', attempts: 7 });
    expect(only({ story: { events: [often] } }).detail).toStartWith('Tried 7 times so far: ');
  });

  it('is why it was given up', () => {
    const failed = (changes: Partial<DeviceEvent>) =>
      only({ story: { events: [happened('failed', changes)] } });
    expect(failed({ reason: 'no-gateway', words: 'No credentials' })).toMatchObject({
      what: 'failed',
      detail:
        'Given up: the instance has no credentials for devices of this platform (no-gateway).',
      advice: containing('publish again'),
    });
    expect(failed({ reason: 'INVALID_ARGUMENT', words: 'bad field', attempts: 4 }).detail).toBe(
      'Given up after 4 attempts: FCM finds what was published malformed, or larger than 4,096 bytes (INVALID_ARGUMENT). Its words: "bad field".',
    );
  });

  it('held it up until its time had run out', () => {
    const expired = (changes: Partial<DeviceEvent>) =>
      only({ story: { events: [happened('expired', changes)] } });
    const inVain = expired({ reason: 'expired', attempts: 0 });
    expect(inVain.detail).toStartWith('Its time to live ran out before it was tried: ');
    expect(inVain.advice?.match(/time_to_live/g)).toHaveLength(1);
    const held = expired({ reason: 'silence', attempts: 3 });
    expect(held.detail).toStartWith('Its time to live ran out, tried 3 times: ');
    expect(held.advice).toMatch(/network of this server.*time_to_live/);
  });

  it('is that the token reaches nobody, and what became of the device', () => {
    const events = [happened('pruned', { reason: 'UNREGISTERED' })];
    const removed = { atMs: PUBLISHED_MS + 1000, reason: 'UNREGISTERED', words: '' };
    expect(only({ story: { events, removed, matches: false } })).toMatchObject({
      what: 'pruned',
      detail: expect.stringMatching(/\(UNREGISTERED\)\. The device was removed\.$/),
    });
    expect(only({ story: { events } }).detail).toContain('is still registered');
  });

  it('is told beside the end of the device at another publish', () => {
    const events = [happened('accepted')];
    const removed = { atMs: NOW_MS, reason: 'UNREGISTERED', words: 'Gone' };
    expect(news({ story: { events, removed, matches: false } })).toMatchObject([
      { what: 'accepted' },
      { what: 'removed', atMs: NOW_MS, detail: containing('at another publish') },
    ]);
  });
});

it('explains whatever a store may know, in sentences and in order', () => {
  const ms = fc.integer({ min: PUBLISHED_MS - 1000, max: PUBLISHED_MS + 100_000 });
  const reason = fc.constantFrom(
    '',
    'silence',
    'UNREGISTERED',
    'http-500',
    'no-gateway',
    '__proto__',
  );
  const whats: readonly DeviceEvent['what'][] = [
    'accepted',
    'retry',
    'failed',
    'expired',
    'pruned',
    'cancelled',
    'delivered',
    'opened',
  ];
  const event = fc.record({
    atMs: ms,
    what: fc.constantFrom(...whats),
    reason,
    words: fc.string(),
    attempts: fc.nat(20),
  });
  const story: fc.Arbitrary<DeviceStory> = fc.record({
    platform: fc.constantFrom(...platforms),
    kind: fc.constantFrom('interests', 'users'),
    page: fc.constantFrom('ahead', 'none', 'waiting', 'delivered', 'cancelled'),
    registeredAtMs: ms,
    removed: fc.option(fc.record({ atMs: ms, reason, words: fc.string() }), { nil: undefined }),
    matches: fc.boolean(),
    hasPayload: fc.boolean(),
    nextAttemptAtMs: fc.option(ms, { nil: undefined }),
    events: fc.array(event, { maxLength: 4 }),
  });
  const states: readonly PublishState[] = [
    'scheduled',
    'planning',
    'delivering',
    'finished',
    'cancelled',
  ];
  fc.assert(
    fc.property(
      story,
      fc.constantFrom(...states),
      fc.option(ms, { nil: undefined }),
      ms,
      (told, state, sendAtMs, nowMs) => {
        const { events } = explained({ story: told, status: { state, sendAtMs }, nowMs });
        const times = events.flatMap(({ atMs }) => atMs ?? []);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        const first = events.findIndex(({ atMs }) => atMs === undefined);
        if (first >= 0)
          expect(events.slice(first).every(({ atMs }) => atMs === undefined)).toBe(true);
        for (const { what, detail } of events) {
          expect(Object.hasOwn(timelineWhats, what)).toBe(true);
          expect(detail).toEndWith('.');
        }
        // Whatever is known of it, it says where the device stands.
        if (told.page !== 'delivered') expect(events.length).toBeGreaterThan(2);
      },
    ),
  );
});
