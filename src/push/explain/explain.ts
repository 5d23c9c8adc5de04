import type { OpenCircuit } from '../delivering/ports.ts';
import type { DeviceStory } from '../model/delivery.ts';
import type { DeviceId } from '../model/device.ts';
import type { PublishStatus } from '../model/publish.ts';
import { adviceOn } from './advice.ts';
import { audienceEvent } from './audience-event.ts';
import { gatewayEvent } from './gateway-events.ts';
import type { Explanation, TimelineEvent } from './timeline.ts';

export interface ExplainOptions {
  readonly deviceId: DeviceId;
  readonly nowMs: number;
  /** The routes to devices of the instance that are not used now. */
  readonly pauses: readonly OpenCircuit[];
}

/** After this time, waiting is worth looking into. */
const LONG_MS = 60_000;

const LOOK_WHY =
  'It waits longer than usual: look in the log for gateways that are paused, and at /metrics for how much waits.';

/** Tells why a device did or did not get a publish: what is known of both, in plain words and in order. */
export function explain(
  story: DeviceStory,
  status: PublishStatus,
  { deviceId, nowMs, pauses }: ExplainOptions,
): Explanation {
  const events = [
    ...beginnings(story, status, nowMs),
    ...story.events.map((event) => gatewayEvent(event, story, nowMs)),
    ...removal(story),
    ...placeInPages(story, status, nowMs),
    ...(isStillToCome(story, status) ? pauseEvents(story, pauses) : []),
  ];
  return { deviceId, platform: story.platform, events: events.toSorted(inTime) };
}

/** What has no time is so now, and comes last. */
function inTime(a: TimelineEvent, b: TimelineEvent): number {
  if (a.atMs === b.atMs) return 0;
  if (a.atMs === undefined) return 1;
  if (b.atMs === undefined) return -1;
  return a.atMs - b.atMs;
}

function beginnings(
  { registeredAtMs }: DeviceStory,
  { createdAtMs, sendAtMs }: PublishStatus,
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
    detail: 'The publish was accepted by this server.',
    advice: undefined,
  };
  if (sendAtMs === undefined) return [registered, published];
  const scheduled: TimelineEvent = {
    atMs: sendAtMs,
    what: 'scheduled',
    detail: `The publish ${sendAtMs > nowMs ? 'is' : 'was'} to go out then.`,
    advice: undefined,
  };
  return [registered, published, scheduled];
}

/** What has become of the device since, where that was not for this publish. */
function removal({ platform, removed, events }: DeviceStory): TimelineEvent[] {
  if (removed === undefined || events.some(({ what }) => what === 'pruned')) return [];
  const { atMs, reason, words } = removed;
  const { why, advice } = adviceOn({ platform, reason, words, device: 'removed' });
  const detail = `The device was removed at another publish, because its token reaches nobody: ${why}.`;
  return [{ atMs, what: 'removed', detail, advice }];
}

function placeInPages(
  story: DeviceStory,
  status: PublishStatus,
  nowMs: number,
): readonly TimelineEvent[] {
  const isCancelled = status.state === 'cancelled';
  switch (story.page) {
    case 'delivered':
      return [];
    case 'cancelled':
      return [cancelled('The publish was cancelled before it went out to this device.')];
    case 'waiting':
      return [
        isCancelled
          ? waiting('It was just going out to this device when the publish was cancelled.')
          : waiting(
              'The publish is for this device. It is in a page of devices that waits to be delivered.',
              nowMs - dueAt(status) > LONG_MS ? LOOK_WHY : undefined,
            ),
      ];
    case 'ahead': {
      const outside = audienceEvent(story, status);
      if (isCancelled) {
        const detail =
          'The publish was cancelled before it was looked whether it is for this device.';
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
  return status.state === 'scheduled'
    ? waiting(
        'As things are now, the publish is for this device. Whom it is for is looked up when it goes out.',
      )
    : waiting(
        'As things are now, the publish is for this device. Whom it is for is being looked up, and this device has not been come to yet.',
        nowMs - dueAt(status) > LONG_MS ? LOOK_WHY : undefined,
      );
}

/** Nothing speaks against it now, and yet it was not in the audience. */
function joinedLate(): TimelineEvent {
  return {
    atMs: undefined,
    what: 'not-in-audience',
    detail:
      'The publish was not for this device when whom it is for was looked up. It would be now: the device has subscribed, or signed its user in, since then.',
    advice: 'Publish again, or publish after devices have subscribed.',
  };
}

function waiting(detail: string, advice?: string): TimelineEvent {
  return { atMs: undefined, what: 'waiting', detail, advice };
}

function cancelled(detail: string): TimelineEvent {
  return { atMs: undefined, what: 'cancelled', detail, advice: undefined };
}

/** Whether it may still go out to the device. */
function isStillToCome(story: DeviceStory, { state }: PublishStatus): boolean {
  if (state === 'cancelled' || state === 'finished') return false;
  if (story.page === 'ahead') return story.matches !== false && story.hasPayload;
  return story.page === 'waiting' || story.nextAttemptAtMs !== undefined;
}

function pauseEvents({ platform }: DeviceStory, pauses: readonly OpenCircuit[]): TimelineEvent[] {
  return pauses
    .filter((pause) => pause.platform === platform)
    .map(({ origin, why, reason, words, sinceMs }) => {
      const meant = adviceOn({ platform, reason, words });
      // Push services that are too many to be told apart share a name that is none.
      const isNamed = origin?.includes('://') === true;
      const where = isNamed ? origin : origin === undefined ? 'the gateway' : 'some push services';
      const cause =
        why === 'credential'
          ? 'It does not accept who sends'
          : 'It has trouble, or wants to be left alone';
      const whose = isNamed ? ' This is about browsers that have that push service.' : '';
      return {
        atMs: sinceMs,
        what: 'gateway-paused',
        detail: `Since then, nothing is sent to ${where} but a probe now and then. ${cause}: ${meant.why}.${whose}`,
        advice: meant.advice,
      };
    });
}

function dueAt({ createdAtMs, sendAtMs }: PublishStatus): number {
  return sendAtMs ?? createdAtMs;
}
