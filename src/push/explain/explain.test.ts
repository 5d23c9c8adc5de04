import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { Manners } from '../delivering/due-times.ts';
import type { OpenCircuit } from '../delivering/ports.ts';
import type { DeviceEvent, DeviceStory } from '../model/delivery.ts';
import { type DeviceId, platforms } from '../model/device.ts';
import { newDeviceId } from '../model/device-id.ts';
import { readLocalTime } from '../model/local-time.ts';
import { NO_COUNTS, type PublishState, type PublishStatus } from '../model/publish.ts';
import { newPublishId } from '../model/publish-id.ts';
import { explain } from './explain.ts';
import { explanationJson, type TimelineEvent, timelineWhats } from './timeline.ts';

const PUBLISHED_MS = Date.UTC(2026, 10, 21, 3);
const REGISTERED_MS = PUBLISHED_MS - 3_600_000;
const NOW_MS = PUBLISHED_MS + 10_000;
const DEVICE: DeviceId = newDeviceId('fcm');

const STATUS: PublishStatus = {
  id: newPublishId(PUBLISHED_MS),
  state: 'delivering',
  createdAtMs: PUBLISHED_MS,
  sendAtMs: undefined,
  platforms: { apns: NO_COUNTS, fcm: NO_COUNTS, web: NO_COUNTS },
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
  return explain(
    { ...STORY, ...story },
    { ...STATUS, ...status },
    { deviceId: DEVICE, nowMs, pauses },
  );
}

/** All events but the registration and the publish. */
function eventsOf(scene: Scene): readonly TimelineEvent[] {
  return explained(scene).events.filter(
    ({ what }) => what !== 'registered' && what !== 'published',
  );
}

/** The only event besides those two. */
function only(scene: Scene): TimelineEvent {
  const [event, ...more] = eventsOf(scene);
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
  it('begins with the registration and the publish, the oldest first', () => {
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
          detail: 'This server accepted the publish.',
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

  it('has times in UTC in its JSON, or null', () => {
    const explanation = explained({ story: { page: 'waiting' } });
    expect(explanationJson(explanation)).toMatchObject({
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
      detail: containing('has no `fcm` payload'),
      advice: containing('Add a `fcm` payload'),
    });
  });

  it('registered after the publish was sent', () => {
    const detail = containing('registered after the publish was sent, at 2026-11-21T03:00:00.000Z');
    expect(outside({ registeredAtMs: PUBLISHED_MS + 1 })).toMatchObject({ detail });
    const [, event] = eventsOf({
      story: { page: 'none', registeredAtMs: PUBLISHED_MS + 1 },
      status: { sendAtMs: PUBLISHED_MS + 5000 },
    });
    // It registered before that time.
    expect(event?.detail).not.toContain('registered after');
  });

  it('is subscribed to none of the interests, or belongs to another user', () => {
    expect(outside({ matches: false }).detail).toContain('any of the interests');
    expect(outside({ matches: false, kind: 'users' })).toMatchObject({
      detail: containing('any of the users'),
      advice: containing('setUserId'),
    });
  });

  it('has an unknown cause if the publish had too many names to be kept', () => {
    expect(outside({ matches: undefined }).detail).toContain('too many interests');
    expect(outside({ matches: undefined, kind: 'users' }).detail).toContain('too many users');
  });

  it('subscribed after the publish was sent', () => {
    expect(outside({ matches: true }).detail).toContain('since then');
  });

  it('was removed before or after the publish was sent', () => {
    const removed = { atMs: PUBLISHED_MS - 1, reason: 'UNREGISTERED', words: '' };
    const gone = (atMs: number) =>
      eventsOf({ story: { page: 'none', matches: false, removed: { ...removed, atMs } } });
    expect(gone(PUBLISHED_MS - 1)).toMatchObject([
      { what: 'removed', atMs: PUBLISHED_MS - 1, detail: containing('(UNREGISTERED)') },
      { what: 'not-in-audience', detail: containing('removed before') },
    ]);
    expect(gone(PUBLISHED_MS + 1)[1]?.detail).toContain('no longer known');
  });
});

describe('a device that waits', () => {
  it('is not reached yet while the server reads the audience', () => {
    expect(only({ story: { page: 'ahead' }, status: { state: 'planning' } })).toMatchObject({
      what: 'waiting',
      detail: containing('has not reached this device yet'),
      advice: undefined,
    });
    expect(
      only({ story: { page: 'ahead', matches: false }, status: { state: 'planning' } }).what,
    ).toBe('not-in-audience');
    const removed = { atMs: PUBLISHED_MS + 1, reason: 'UNREGISTERED', words: '' };
    const [, gone] = eventsOf({ story: { page: 'ahead', matches: false, removed } });
    expect(gone?.detail).toContain('removed before');
  });

  it('has a publish that is scheduled', () => {
    const sendAtMs = NOW_MS + 60_000;
    const events = eventsOf({
      story: { page: 'ahead' },
      status: { state: 'scheduled', sendAtMs },
    });
    expect(events).toMatchObject([
      { atMs: sendAtMs, what: 'scheduled', detail: 'The publish is scheduled for this time.' },
      { atMs: undefined, what: 'waiting', detail: containing('at the scheduled time') },
    ]);
    const [scheduled] = eventsOf({ status: { sendAtMs }, nowMs: sendAtMs });
    expect(scheduled?.detail).toBe('The publish was scheduled for this time.');
  });

  it('gets advice after a minute', () => {
    const at = (nowMs: number) => only({ story: { page: 'waiting' }, nowMs });
    expect(at(PUBLISHED_MS + 60_000).advice).toBeUndefined();
    expect(at(PUBLISHED_MS + 60_001).advice).toContain('/metrics');
  });

  it('is shown the paused gateways of its platform', () => {
    const pause: OpenCircuit = {
      instance: 1,
      platform: 'fcm',
      origin: undefined,
      why: 'credential',
      reason: 'PERMISSION_DENIED',
      words: 'No permission',
      sinceMs: PUBLISHED_MS + 500,
    };
    const shown = (story: Partial<DeviceStory>, state: PublishState = 'delivering') =>
      eventsOf({ story, status: { state }, pauses: [pause, { ...pause, platform: 'apns' }] });
    expect(shown({ page: 'waiting' })).toMatchObject([
      {
        atMs: pause.sinceMs,
        what: 'gateway-paused',
        detail:
          'Sending to the gateway is paused since then, except for occasional probes. It does not accept the credential: the service account is not allowed to send for its project (PERMISSION_DENIED). The gateway said: "No permission".',
        advice: containing('Enable the Firebase'),
      },
      { what: 'waiting' },
    ]);
    const retry = { nextAttemptAtMs: NOW_MS, events: [happened('retry')] };
    expect(shown(retry).map(({ what }) => what)).toEqual(['gateway-paused', 'retry']);
    expect(shown({ page: 'ahead' }, 'planning')).toHaveLength(2);
    // It does not matter to devices that have their outcome or are not in the audience.
    expect(shown({ events: [happened('accepted')] })).toHaveLength(1);
    expect(shown({ page: 'ahead', matches: false })).toHaveLength(1);
    expect(shown({ page: 'waiting' }, 'cancelled')).toHaveLength(1);
  });

  it('is shown which push service is paused, if it is known', () => {
    const detail = (origin: string) => {
      const pause = {
        instance: 1,
        why: 'gateway',
        reason: 'silence',
        words: '',
        sinceMs: 0,
      } as const;
      const pauses = [{ ...pause, platform: 'web' as const, origin }];
      return eventsOf({ story: { page: 'waiting', platform: 'web' }, pauses })[0]?.detail;
    };
    expect(detail('https://push.example.net')).toContain('to https://push.example.net is paused');
    expect(detail('https://push.example.net')).toContain('browsers with that push service');
    expect(detail('others')).toContain('to some push services is paused');
  });
});

describe('a publish that was cancelled', () => {
  const status = { state: 'cancelled' } as const;

  it('is shown as cancelled, whatever its state was', () => {
    const whats = (story: Partial<DeviceStory>) =>
      eventsOf({ story, status }).map(({ atMs, what }) => [atMs, what]);
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

  it('may still reach devices that it was being sent to', () => {
    expect(only({ story: { page: 'waiting' }, status }).detail).toContain(
      'while it was being sent',
    );
  });
});

describe('what the gateway said', () => {
  it('is that it accepted the notification, so the device must be checked', () => {
    const event = happened('accepted');
    expect(only({ story: { events: [event] } })).toEqual({
      atMs: event.atMs,
      what: 'accepted',
      detail: 'FCM accepted it.',
      advice: containing('Check the device'),
    });
    const again = happened('accepted', { attempts: 3, reason: 'UNAVAILABLE' });
    expect(only({ story: { events: [again] } }).detail).toBe(
      'FCM accepted it at attempt 3. Before that, it failed: FCM has a temporary problem (UNAVAILABLE).',
    );
  });

  it('is that its time to live ends before its quiet hours do', () => {
    const event = happened('expired', { reason: 'quiet-hours', words: '07:30 (UTC)', attempts: 0 });
    expect(only({ story: { events: [event] } })).toMatchObject({
      what: 'expired',
      detail:
        'Given up before the first attempt: its time to live ends before its quiet hours do (quiet-hours): 07:30 (UTC).',
      advice: containing('`urgent`'),
    });
  });

  it('is that the device had as many notifications as the instance allows', () => {
    const words = '3 notifications in the 24 h since 2026-11-28T09:00Z';
    const event = happened('failed', { reason: 'over-cap', words, attempts: 0 });
    expect(only({ story: { events: [event] } })).toEqual({
      atMs: event.atMs,
      what: 'not-sent',
      detail: `It had ${words}, the cap of the instance.`,
      advice: containing('`urgent`'),
    });
  });

  it('is that it accepted the text of its language', () => {
    const text = { language: 'de-AT', of: 'de' };
    expect(only({ story: { events: [happened('accepted')], text } }).detail).toBe(
      'FCM accepted it. It has the text `de` for `de-AT`.',
    );
  });

  it('is followed by what the device reported', () => {
    const events = [
      happened('accepted'),
      happened('delivered', { atMs: NOW_MS }),
      happened('opened', { atMs: NOW_MS + 1 }),
    ];
    expect(eventsOf({ story: { events } }).map(({ what, advice }) => [what, advice])).toEqual([
      ['accepted', undefined],
      ['delivered', undefined],
      ['opened', undefined],
    ]);
    const [, delivered] = eventsOf({ story: { events: events.slice(0, 2) } });
    expect(delivered?.advice).toContain('If nothing was shown');
  });

  it('is why it is retried, and when', () => {
    const events = [happened('retry', { reason: 'no-answer', attempts: 2 })];
    const next = (nextAttemptAtMs: number) => only({ story: { events, nextAttemptAtMs } }).detail;
    expect(next(NOW_MS + 1)).toBe(
      '2 attempts failed so far: the gateway did not answer this request in time, and may have accepted it (no-answer). The next attempt is due at 2026-11-21T03:00:10.001Z.',
    );
    expect(next(NOW_MS)).toEndWith(' The next attempt is due.');
    const untried = happened('retry', { reason: 'waited-for-its-turn', attempts: 0 });
    expect(only({ story: { events: [untried] } }).detail).toStartWith('Not sent yet: other');
    const often = happened('retry', { reason: 'silence', attempts: 7 });
    expect(only({ story: { events: [often] } }).detail).toStartWith('7 attempts failed so far: ');
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
      'Given up after 4 attempts: FCM finds the message malformed, or larger than 4,096 bytes (INVALID_ARGUMENT). The gateway said: "bad field".',
    );
  });

  it('is that nothing is sent to this device for now', () => {
    const pause = {
      untilMs: NOW_MS + 60_000,
      failures: 3,
      sinceMs: PUBLISHED_MS,
      waiting: 2,
      cause: 'http-429',
    };
    const story = { pause, page: 'waiting' } as const;
    const paused = eventsOf({ story }).find(({ what }) => what === 'device-paused');
    expect(paused?.atMs).toBe(PUBLISHED_MS);
    expect(paused?.detail).toContain(`until ${new Date(pause.untilMs).toISOString()}`);
    expect(paused?.detail).toContain('failed 3 times');
    expect(paused?.detail).toContain('(http-429)');
    expect(paused?.detail).toEndWith('2 publishes wait for it.');
    const whats = (scene: Scene) => eventsOf(scene).map(({ what }) => what);
    expect(whats({ story, nowMs: pause.untilMs })).not.toContain('device-paused');
    expect(whats({ story, status: { state: 'finished' } })).not.toContain('device-paused');
    const retried = happened('retry', { reason: 'device-paused', words: 'http-429', attempts: 1 });
    const { detail } = only({ story: { events: [retried], nextAttemptAtMs: pause.untilMs } });
    expect(detail).toStartWith('1 attempt failed so far: ');
    expect(detail).toContain('(http-429)');
  });

  it('delayed it until its time to live ended', () => {
    const expired = (changes: Partial<DeviceEvent>) =>
      only({ story: { events: [happened('expired', changes)] } });
    const untried = expired({ reason: 'expired', attempts: 0 });
    expect(untried.detail).toStartWith('Its time to live ended before the first attempt: ');
    expect(untried.advice?.match(/time_to_live/g)).toHaveLength(1);
    const ended = expired({ reason: 'retries-ended', words: 'http-503', attempts: 7 });
    expect(ended.detail).toStartWith('Given up after 7 attempts: ');
    expect(ended.detail).toContain('limits.retryHours');
    expect(ended.detail).toContain('(http-503)');
    expect(ended.detail).not.toContain('said');
    const held = expired({ reason: 'silence', attempts: 3 });
    expect(held.detail).toStartWith('Its time to live ended after 3 attempts: ');
    expect(held.advice).toMatch(/Check DNS.*time_to_live/);
  });

  it('is that the token is no longer valid, and what happened to the device', () => {
    const events = [happened('pruned', { reason: 'UNREGISTERED' })];
    const removed = { atMs: PUBLISHED_MS + 1000, reason: 'UNREGISTERED', words: '' };
    expect(only({ story: { events, removed, matches: false } })).toMatchObject({
      what: 'pruned',
      detail: expect.stringMatching(/\(UNREGISTERED\)\. The device was removed\.$/),
    });
    expect(only({ story: { events } }).detail).toContain('is still registered');
  });

  it('is shown besides the removal of the device during another publish', () => {
    const events = [happened('accepted')];
    const removed = { atMs: NOW_MS, reason: 'UNREGISTERED', words: 'Gone' };
    expect(eventsOf({ story: { events, removed, matches: false } })).toMatchObject([
      { what: 'accepted' },
      { what: 'removed', atMs: NOW_MS, detail: containing('during another publish') },
    ]);
  });
});

it('explains any state of the store, in sentences and in order', () => {
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
      (known, state, sendAtMs, nowMs) => {
        const { events } = explained({ story: known, status: { state, sendAtMs }, nowMs });
        const times = events.flatMap(({ atMs }) => atMs ?? []);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        const first = events.findIndex(({ atMs }) => atMs === undefined);
        if (first >= 0)
          expect(events.slice(first).every(({ atMs }) => atMs === undefined)).toBe(true);
        for (const { what, detail } of events) {
          expect(Object.hasOwn(timelineWhats, what)).toBe(true);
          expect(detail).toEndWith('.');
        }
        // It always says how far the device has come.
        if (known.page !== 'delivered') expect(events.length).toBeGreaterThan(2);
      },
    ),
  );
});

describe('a device that is due later', () => {
  const atMs = Date.UTC(2026, 11, 24, 17);
  const local = readLocalTime('2026-12-24T18:00');
  const berlin = { timeZone: 'Europe/Berlin' };
  const detailOf = (story: Partial<DeviceStory>, manners?: Manners) => {
    const { events } = explain(
      { ...STORY, page: 'waiting', ...story },
      { ...STATUS, sendAtMs: undefined },
      { deviceId: DEVICE, nowMs: NOW_MS, pauses: [], manners },
    );
    return events.find(({ what }) => what === 'waiting')?.detail;
  };

  it('waits for its local time, in its zone or that of the instance', () => {
    const words = 'It is due 2026-12-24T17:00:00Z, 18:00 in Europe/Berlin.';
    const due = { atMs, local };
    expect(detailOf({ due, preferences: berlin })).toBe(words);
    expect(detailOf({ due }, berlin)).toBe(words);
    expect(detailOf({ due, preferences: { timeZone: 'Mars/Olympus' } }, berlin)).toBe(
      `${words} This server does not know its time zone Mars/Olympus, and uses that of the instance.`,
    );
  });

  it('waits for the end of its quiet hours', () => {
    const due = { atMs: Date.UTC(2026, 11, 24, 12, 31, 40), local: undefined };
    const quietHours = { from: '22:00', to: '07:30' };
    const words = 'Its quiet hours end at 07:30 (America/Bogota). It is due 2026-12-24T12:31:40Z.';
    expect(detailOf({ due, preferences: { timeZone: 'America/Bogota', quietHours } })).toBe(words);
    expect(detailOf({ due }, { timeZone: 'America/Bogota', quietHours })).toBe(words);
    expect(detailOf({ due })).toContain('when the publish was planned');
  });

  it('waits for its turn if the publish sends so many per second', () => {
    const words = 'the publish sends 5000 per second, and others come first.';
    const due = { atMs, local: undefined, perSecond: 5000 };
    expect(detailOf({ due })).toBe(`It is due 2026-12-24T17:00:00Z: ${words}`);
    const preferences = { timeZone: 'Mars/Olympus' };
    expect(detailOf({ due, preferences })).toEndWith(words);
    expect(detailOf({ due: { ...due, local }, preferences })).toEndWith('that of the instance.');
  });

  it('waits like all others once it is due', () => {
    expect(detailOf({ due: { atMs: NOW_MS, local } })).toContain('waits to be sent to it');
  });
});
