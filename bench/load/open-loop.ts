import type { AppAddress } from '../bench-app.ts';
import { ClientEvents } from './events/client-events.ts';
import type { EventSource, EventSourceName } from './events/event-source.ts';
import { MemberChanges } from './events/member-changes.ts';
import { Triggers } from './events/triggers.ts';
import { FallbackCrowd } from './fallback/fallback-crowd.ts';
import { Histogram } from './histogram.ts';
import type { KernelSockets } from './kernel-sockets.ts';
import { Publishers } from './publishers.ts';
import { Crowd, type CrowdSize } from './subscribers.ts';
import { dueMs, type Schedule, Tally } from './tally.ts';

/** A step ends when nothing has arrived for this long, whatever is still missing. */
const SILENCE_MS = 1000;
/** A step is aborted when this many seconds' worth of deliveries are outstanding. */
const BACKLOG_SECONDS = 1;
/** The share of late deliveries from which on the 99th percentile cannot be met. */
const OVER_LIMIT_SHARE = 0.01;

/** The clients and connections that load a server. */
export interface LoadSize {
  readonly crowd: CrowdSize;
  /** How many keep-alive connections publish. */
  readonly publishers: number;
  /** Where they publish, if it is not the subscribers' server. */
  readonly publishTo?: AppAddress;
  /** Backends trigger if this is not given. */
  readonly eventSource?: EventSourceName;
}

/** Makes events at a fixed rate for a while. */
export interface Step {
  readonly publishesPerSecond: number;
  /** Delivered and counted first, but not timed. */
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** The length of the data of one event. */
  readonly dataBytes: number;
  /** The step is cut short once its 99th percentile must exceed this. */
  readonly limitMs: number;
}

/** The result of a step. Latency is measured from when an event was due to when its delivery was read. */
export interface StepResult {
  readonly publishesPerSecond: number;
  readonly expected: number;
  readonly delivered: number;
  readonly missing: number;
  readonly duplicated: number;
  /** Events that the server did not accept, and its text for the first of them. */
  readonly refused: number;
  readonly firstRefusal: string;
  /** Subscribers whose connection the server ended. */
  readonly lost: number;
  /** Stopped early because it could no longer hold. */
  readonly cutShort: boolean;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** Of the clients over the HTTP transports. */
  readonly fallback: {
    readonly delivered: number;
    readonly missing: number;
    readonly duplicated: number;
    readonly p99Ms: number;
  };
  /** How late this process itself was: from when an event was due to when it was handed on. */
  readonly pacingP99Ms: number;
  /** How many deliveries one read brought on average: the server, the kernel or we have batched. */
  readonly framesPerRead: number;
  /** The share of the step in which this process was busy, 0 to 1. */
  readonly busyShare: number;
}

/** Who makes events and who listens. */
export interface Load {
  readonly app: AppAddress;
  readonly sockets: KernelSockets;
  readonly crowd: Crowd;
  readonly eventSource: EventSource;
  /** The clients over the HTTP transports that are subscribed to the same channels. */
  readonly fallback: FallbackCrowd;
}

/** Connects everybody; returns when all are subscribed. */
export function connectLoad(app: AppAddress, sockets: KernelSockets, size: LoadSize): Load {
  const crowd = new Crowd(sockets, app, size.crowd);
  crowd.fill();
  return {
    app,
    sockets,
    crowd,
    eventSource: eventSourceOf(app, sockets, crowd, size),
    fallback: new FallbackCrowd(app, sockets),
  };
}

function eventSourceOf(
  app: AppAddress,
  sockets: KernelSockets,
  crowd: Crowd,
  size: LoadSize,
): EventSource {
  const { eventSource = 'triggers', publishers, publishTo } = size;
  switch (eventSource) {
    case 'triggers': {
      const backend = publishTo ?? app;
      const connected = new Publishers(sockets, backend, publishers);
      connected.fill();
      return new Triggers(backend, crowd, connected);
    }
    case 'client-events':
      return new ClientEvents(crowd);
    case 'member-changes':
      return new MemberChanges(app, crowd, sockets);
    default:
      return eventSource satisfies never;
  }
}

/**
 * Sends each event when it is due, whether or not the server keeps up, and waits until every
 * delivery has come or nothing comes any more.
 */
export function runStep(load: Load, step: Step): StepResult {
  const { crowd, sockets, eventSource, fallback } = load;
  // Notices what the server has ended since the last step.
  sockets.poll(0);
  crowd.fill();

  const warmupEvents = Math.round(step.warmupSeconds * step.publishesPerSecond);
  const events = warmupEvents + Math.round(step.seconds * step.publishesPerSecond);
  const firstSequence = eventSource.prepare(events, step.dataBytes);
  // What the step before left behind is collected now, not while we measure.
  Bun.gc(true);

  const schedule: Schedule = {
    firstSequence,
    events,
    firstDueMs: performance.now(),
    intervalMs: 1000 / step.publishesPerSecond,
    warmupEvents,
  };
  const tally = new Tally(schedule, step.limitMs);
  crowd.tally = tally;
  const fallbackTally = new Tally(schedule, step.limitMs);
  fallback.tally = fallbackTally;

  const readsBefore = crowd.reads;
  const idleMsBefore = sockets.idleMs;
  const { sent, lateness } = sendWhenDue(load, step, tally);
  settle(load, { tally, fallbackTally }, sent);
  const idleMs = sockets.idleMs - idleMsBefore;
  const elapsedMs = performance.now() - schedule.firstDueMs;

  crowd.tally = undefined;
  fallback.tally = undefined;
  return {
    publishesPerSecond: step.publishesPerSecond,
    expected: sent * eventSource.copies,
    delivered: tally.delivered,
    ...tally.faults(sent, eventSource.copies),
    refused: eventSource.refused + Math.max(0, sent - eventSource.answered),
    firstRefusal: eventSource.firstRefusal,
    lost: crowd.lostCount,
    cutShort: sent < events,
    fallback: {
      delivered: fallbackTally.delivered,
      ...fallbackTally.faults(sent, fallback.size),
      p99Ms: fallbackTally.latency.quantileMs(0.99),
    },
    p50Ms: tally.latency.quantileMs(0.5),
    p99Ms: tally.latency.quantileMs(0.99),
    p999Ms: tally.latency.quantileMs(0.999),
    maxMs: tally.latency.maxMs,
    pacingP99Ms: lateness.quantileMs(0.99),
    framesPerRead: tally.delivered / Math.max(1, crowd.reads - readsBefore),
    busyShare: 1 - idleMs / elapsedMs,
  };
}

/** Sends every event when it is due; returns once all are sent or the step is beyond hope. */
function sendWhenDue(
  { sockets, eventSource }: Load,
  step: Step,
  tally: Tally,
): { sent: number; lateness: Histogram } {
  const { schedule } = tally;
  const timed = (schedule.events - schedule.warmupEvents) * eventSource.copies;
  const overLimitMax = timed * OVER_LIMIT_SHARE;
  const backlogMax = step.publishesPerSecond * eventSource.copies * BACKLOG_SECONDS;
  const lateness = new Histogram();

  for (let index = 0; index < schedule.events; index += 1) {
    for (;;) {
      const lateMs = performance.now() - dueMs(schedule, index);
      if (lateMs >= 0) {
        lateness.record(lateMs);
        eventSource.send(index);
        break;
      }
      sockets.pollSome(-lateMs);
    }
    const backlog = (index + 1) * eventSource.copies - tally.delivered;
    if (tally.overLimit > overLimitMax || backlog > backlogMax)
      return { sent: index + 1, lateness };
  }
  return { sent: schedule.events, lateness };
}

/** Reads until everything that was sent is answered and delivered, or nothing arrives any more. */
function settle(
  { sockets, eventSource, fallback }: Load,
  { tally, fallbackTally }: { tally: Tally; fallbackTally: Tally },
  sent: number,
): void {
  const expected = sent * (eventSource.copies + fallback.size);
  let silentSinceMs = performance.now();
  let before = -1;
  for (;;) {
    const { answered } = eventSource;
    const delivered = tally.delivered + fallbackTally.delivered;
    if (delivered >= expected && answered >= sent) return;
    const progress = delivered + answered;
    if (progress !== before) silentSinceMs = performance.now();
    else if (performance.now() - silentSinceMs > SILENCE_MS) return;
    before = progress;
    sockets.poll(5);
  }
}
