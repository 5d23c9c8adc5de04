import type { Manners } from '../delivering/due-times.ts';
import type { PausedRoute } from '../delivering/ports.ts';
import type { DeviceStory } from '../model/delivery.ts';
import type { DeviceId } from '../model/device.ts';
import { DEVICE_PAUSED } from '../model/device-pause.ts';
import type { PublishStatus } from '../model/publish.ts';
import { adviceOn } from './advice.ts';
import { audienceEvent, isOfKind } from './audience-event.ts';
import { dueText } from './due-text.ts';
import { gatewayEvent } from './gateway-events.ts';
import { liveEvents, wasReachedLive } from './live-events.ts';
import { type Explanation, type TimelineEvent, timeText } from './timeline.ts';

export interface ExplainOptions {
  readonly deviceId: DeviceId;
  readonly nowMs: number;
  /** The paused routes of the instance. */
  readonly pauses: readonly PausedRoute[];
  /** What the instance says for devices that say nothing themselves. */
  readonly manners?: Manners | undefined;
}

/** Waiting longer than this is unusual. */
const LONG_MS = 60_000;

const LOOK_WHY =
  'It has been waiting unusually long: look for paused gateways in the log, and for the backlog in /metrics.';

/** Explains why a device did or did not get a publish, as a timeline in plain English. */
export function explain(
  story: DeviceStory,
  status: PublishStatus,
  { deviceId, nowMs, pauses, manners = {} }: ExplainOptions,
): Explanation {
  const events = [
    ...startOf(story, status, nowMs),
    ...liveEvents(story, status),
    ...story.events.map((event) => gatewayEvent(event, story, nowMs)),
    ...removalOf(story),
    ...progressOf(story, status, { nowMs, manners }),
    ...(isStillToCome(story, status)
      ? [...pauseEvents(story, pauses), ...devicePauseOf(story, nowMs)]
      : []),
  ];
  return { deviceId, platform: story.platform, events: events.toSorted(byTime) };
}

/** Events without a time are the present state and come last. */
function byTime(a: TimelineEvent, b: TimelineEvent): number {
  if (a.atMs === b.atMs) return 0;
  if (a.atMs === undefined) return 1;
  if (b.atMs === undefined) return -1;
  return a.atMs - b.atMs;
}

function startOf(
  { registeredAtMs }: DeviceStory,
  { createdAtMs, sendAtMs, rule }: PublishStatus,
  nowMs: number,
): TimelineEvent[] {
  const registered: TimelineEvent = {
    atMs: registeredAtMs,
    what: 'registered',
    detail: 'The device registered.',
    advice: undefined,
  };
  const published: TimelineEvent = {
    atMs: createdAtMs,
    what: 'published',
    detail:
      rule === undefined
        ? 'This server accepted the publish.'
        : `A push rule of the app ${rule.app} made the publish of the event ${rule.event} in ${rule.channel}.`,
    advice: undefined,
  };
  if (sendAtMs === undefined) return [registered, published];
  const scheduled: TimelineEvent = {
    atMs: sendAtMs,
    what: 'scheduled',
    detail: `The publish ${sendAtMs > nowMs ? 'is' : 'was'} scheduled for this time.`,
    advice: undefined,
  };
  return [registered, published, scheduled];
}

/** The removal of the device, if another publish caused it. */
function removalOf({ platform, removed, events }: DeviceStory): TimelineEvent[] {
  if (removed === undefined || events.some(({ what }) => what === 'pruned')) return [];
  const { atMs, reason, words } = removed;
  const { why, advice } = adviceOn({ platform, reason, words, device: 'removed' });
  const detail = `The device was removed during another publish, as its token was no longer valid: ${why}.`;
  return [{ atMs, what: 'removed', detail, advice }];
}

function progressOf(
  story: DeviceStory,
  status: PublishStatus,
  { nowMs, manners }: { readonly nowMs: number; readonly manners: Manners },
): readonly TimelineEvent[] {
  const isCancelled = status.state === 'cancelled';
  if (wasReachedLive(story, status.live)) return [];
  switch (story.page) {
    case 'delivered':
      return [];
    case 'cancelled':
      return [cancelled('The publish was cancelled before it was sent to this device.')];
    case 'waiting':
      if (story.due !== undefined && story.due.atMs > nowMs && !isCancelled) {
        return [waiting(dueText(story.due, story, manners))];
      }
      return [
        isCancelled
          ? waiting('The publish was cancelled while it was being sent to this device.')
          : waiting(
              'The publish is for this device, and waits to be sent to it.',
              nowMs - dueAt(status) > LONG_MS ? LOOK_WHY : undefined,
            ),
      ];
    case 'ahead': {
      const outside = audienceEvent(story, status);
      if (isCancelled) {
        const detail =
          'The publish was cancelled before the server determined whether it is for this device.';
        return [cancelled(detail), ...(outside === undefined ? [] : [outside])];
      }
      return [outside ?? ahead(status, nowMs)];
    }
    case 'none':
      return [audienceEvent(story, status) ?? joinedLate()];
    default:
      return story.page satisfies never;
  }
}

function ahead(status: PublishStatus, nowMs: number): TimelineEvent {
  if (status.live?.state === 'asking') {
    return waiting(
      `The server asks the connections of the users whether they got it in the app, for ${status.live.waitSeconds} s at most.`,
    );
  }
  return status.state === 'scheduled'
    ? waiting(
        'Judging by its present interests or user, the publish is for this device. The server determines this at the scheduled time.',
      )
    : waiting(
        'Judging by its present interests or user, the publish is for this device. The server is still reading the audience and has not reached this device yet.',
        nowMs - dueAt(status) > LONG_MS ? LOOK_WHY : undefined,
      );
}

/** The device would be in the audience now, but was not. */
function joinedLate(): TimelineEvent {
  return {
    atMs: undefined,
    what: 'not-in-audience',
    detail:
      'When the publish was sent, it was not for this device. It would be now: the device has subscribed, or got its user, since then.',
    advice: 'Publish again. Publish only after devices have subscribed.',
  };
}

function waiting(detail: string, advice?: string): TimelineEvent {
  return { atMs: undefined, what: 'waiting', detail, advice };
}

function cancelled(detail: string): TimelineEvent {
  return { atMs: undefined, what: 'cancelled', detail, advice: undefined };
}

/** Whether it may still be sent to the device. */
function isStillToCome(story: DeviceStory, { state, live }: PublishStatus): boolean {
  if (state === 'cancelled' || state === 'finished') return false;
  if (wasReachedLive(story, live)) return false;
  if (story.page === 'ahead') return story.matches !== false && story.hasPayload && isOfKind(story);
  return story.page === 'waiting' || story.nextAttemptAtMs !== undefined;
}

function pauseEvents({ platform }: DeviceStory, pauses: readonly PausedRoute[]): TimelineEvent[] {
  return pauses
    .filter((pause) => pause.platform === platform)
    .map(({ origin, why, reason, words, sinceMs }) => {
      const { why: cause, advice } = adviceOn({ platform, reason, words });
      // Push services beyond a number share a name, which is no origin.
      const isNamed = origin?.includes('://') === true;
      const unnamed = origin === undefined ? 'the gateway' : 'some push services';
      const kind =
        why === 'credential' ? 'It does not accept the credential' : 'It fails, or limits the rate';
      const whose = isNamed ? ' This concerns only browsers with that push service.' : '';
      return {
        atMs: sinceMs,
        what: 'gateway-paused',
        detail: `Sending to ${isNamed ? origin : unnamed} is paused since then, except for occasional probes. ${kind}: ${cause}.${whose}`,
        advice,
      };
    });
}

function devicePauseOf({ platform, pause }: DeviceStory, nowMs: number): TimelineEvent[] {
  if (pause === undefined || pause.untilMs <= nowMs) return [];
  const { sinceMs, untilMs, failures, waiting, cause } = pause;
  const { why, advice } = adviceOn({ platform, reason: DEVICE_PAUSED, words: cause });
  const times = failures === 1 ? 'once' : `${failures} times`;
  const waits = waiting === 1 ? '1 publish waits' : `${waiting} publishes wait`;
  return [
    {
      atMs: sinceMs,
      what: 'device-paused',
      detail: `Nothing is sent to this device until ${timeText(untilMs)}, as it has failed ${times} since this time: ${why}. ${waits} for it.`,
      advice,
    },
  ];
}

function dueAt({ createdAtMs, sendAtMs }: PublishStatus): number {
  return sendAtMs ?? createdAtMs;
}
