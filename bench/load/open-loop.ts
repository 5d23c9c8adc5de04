import type { AppAddress } from '../bench-app.ts';
import { eventData } from './bench-event.ts';
import type { Crowd } from './crowd.ts';
import { Histogram } from './histogram.ts';
import type { KernelSockets } from './kernel-sockets.ts';
import type { Publishers } from './publishers.ts';
import { dueMs, type Schedule, Tally } from './tally.ts';
import { triggerRequest } from './trigger-request.ts';

/** A step is over when nothing has come for so long, whatever is still missing. */
const SILENCE_MS = 1000;
/** A step is cut short when so many seconds' worth of deliveries are outstanding. */
const BACKLOG_SECONDS = 1;
/** The share of timed deliveries over the limit from which the 99th percentile cannot be held. */
const OVER_LIMIT_SHARE = 0.01;

/** Publishes at a fixed rate for a while. */
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

/** What became of a step. Latency counts from when a publish was due to when a delivery was read. */
export interface StepResult {
  readonly publishesPerSecond: number;
  readonly expected: number;
  readonly delivered: number;
  readonly missing: number;
  readonly duplicated: number;
  /** Publishes that were not answered with 200, and what the first of them was answered with. */
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
  /** How late this process itself was: from when a publish was due to when it was handed on. */
  readonly pacingP99Ms: number;
  /** How many deliveries one read brought on average: the server, the kernel or we have batched. */
  readonly framesPerRead: number;
  /** This process's own share of one core while the step ran, 0 to 1. */
  readonly cpuShare: number;
}

/** Who publishes, who listens, and the number of the next event. */
export interface Load {
  readonly app: AppAddress;
  readonly sockets: KernelSockets;
  readonly crowd: Crowd;
  readonly publishers: Publishers;
  nextSequence: number;
}

/** Builds the requests of the next publishes, over all channels in turn. */
export function buildRequests(load: Load, publishes: number, dataBytes: number): Buffer[] {
  const { channels } = load.crowd;
  return Array.from({ length: publishes }, () => {
    const sequence = load.nextSequence;
    load.nextSequence += 1;
    const channel = channels[sequence % channels.length] ?? '';
    return triggerRequest(load.app, channel, eventData(sequence, dataBytes));
  });
}

/**
 * Publishes each event when it is due, whether or not the server keeps up, and waits until every
 * delivery has come or nothing comes any more.
 */
export function runStep(load: Load, step: Step): StepResult {
  const { crowd, publishers, sockets } = load;
  // Notices what the server has ended since the last step.
  sockets.poll(0);
  crowd.fill();
  publishers.fill();

  const warmupPublishes = Math.round(step.warmupSeconds * step.publishesPerSecond);
  const publishes = warmupPublishes + Math.round(step.seconds * step.publishesPerSecond);
  const firstSequence = load.nextSequence;
  const requests = buildRequests(load, publishes, step.dataBytes);
  // What the step before left behind is collected now, not while we measure.
  Bun.gc(true);

  const schedule: Schedule = {
    firstSequence,
    publishes,
    firstDueMs: performance.now(),
    intervalMs: 1000 / step.publishesPerSecond,
    warmupPublishes,
  };
  const tally = new Tally(schedule, step.limitMs);
  crowd.tally = tally;

  const readsBefore = sockets.reads;
  const cpuBefore = process.cpuUsage();
  const { sent, lateness } = publishWhenDue(load, step, schedule, requests, tally);
  settle(load, tally, sent);
  const cpu = process.cpuUsage(cpuBefore);
  const elapsedUs = (performance.now() - schedule.firstDueMs) * 1000;

  crowd.tally = undefined;
  return {
    publishesPerSecond: step.publishesPerSecond,
    expected: sent * crowd.subscribersEach,
    delivered: tally.delivered,
    ...tally.faults(sent, crowd.subscribersEach),
    refused: sent - publishers.acceptedCount,
    firstRefusal: publishers.firstRefusal,
    lost: crowd.lostCount,
    cutShort: sent < publishes,
    p50Ms: tally.latency.quantileMs(0.5),
    p99Ms: tally.latency.quantileMs(0.99),
    p999Ms: tally.latency.quantileMs(0.999),
    maxMs: tally.latency.maxMs,
    pacingP99Ms: lateness.quantileMs(0.99),
    framesPerRead: tally.delivered / Math.max(1, sockets.reads - readsBefore - sent),
    cpuShare: (cpu.user + cpu.system) / elapsedUs,
  };
}

/** Sends every request when it is due; returns once all are sent or the step is beyond hope. */
function publishWhenDue(
  { crowd, publishers, sockets }: Load,
  step: Step,
  schedule: Schedule,
  requests: readonly Buffer[],
  tally: Tally,
): { sent: number; lateness: Histogram } {
  const timed = (schedule.publishes - schedule.warmupPublishes) * crowd.subscribersEach;
  const overLimitMax = timed * OVER_LIMIT_SHARE;
  const backlogMax = step.publishesPerSecond * crowd.subscribersEach * BACKLOG_SECONDS;
  const lateness = new Histogram();

  for (const [index, request] of requests.entries()) {
    for (;;) {
      const lateMs = performance.now() - dueMs(schedule, index);
      if (lateMs >= 0) {
        lateness.record(lateMs);
        publishers.send(request);
        break;
      }
      sockets.poll(-lateMs);
    }
    const backlog = (index + 1) * crowd.subscribersEach - tally.delivered;
    if (tally.overLimit > overLimitMax || backlog > backlogMax)
      return { sent: index + 1, lateness };
  }
  return { sent: requests.length, lateness };
}

/** Reads on until everything that was published is answered and heard, or until there is silence. */
function settle({ crowd, publishers, sockets }: Load, tally: Tally, sent: number): void {
  let silentSinceMs = performance.now();
  let before = -1;
  for (;;) {
    const answered = publishers.acceptedCount + publishers.refusedCount;
    if (tally.delivered >= sent * crowd.subscribersEach && answered >= sent) return;
    const progress = tally.delivered + answered;
    if (progress !== before) silentSinceMs = performance.now();
    else if (performance.now() - silentSinceMs > SILENCE_MS) return;
    before = progress;
    sockets.poll(5);
  }
}
