import type { AppAddress } from '../bench-app.ts';
import { EVENT_NAME, eventData } from './bench-event.ts';
import type { KernelSockets } from './kernel-sockets.ts';
import { Publishers } from './publishers.ts';
import { eventBody, signedRequest } from './trigger-request.ts';

/** Enough that they differ, few enough to be built at once. They are sent again from the first when all have been. */
const REQUESTS = 20_000;
const CHANNELS = 100;
/** How long the last answers may take. */
const LAST_ANSWERS_MS = 5000;

/** Signed requests to channels, without subscribers by default. Each is sent when an earlier one is answered. */
export interface Intake {
  readonly app: AppAddress;
  readonly connections: number;
  /** More than one are a batch, or one event to several `channels`. */
  readonly eventsEach: number;
  /** Where each request triggers one event on the next `eventsEach` of them. */
  readonly channels?: readonly string[] | undefined;
  readonly dataBytes: number;
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** See `KernelSockets`. */
  readonly staysAwake: boolean;
}

/** What a server accepted. */
export interface IntakeResult {
  /** Requests that were answered with 200, the warm-up included. */
  readonly accepted: number;
  readonly requestsPerSecond: number;
  /** Requests that were not answered with 200, and what the first of them was answered with. */
  readonly refused: number;
  readonly firstRefusal: string;
  /** The share of the time in which this process was busy, 0 to 1. */
  readonly busyShare: number;
}

/** Measures how many requests per second a server can handle from a fixed number of connections. */
export function measureIntake(sockets: KernelSockets, intake: Intake): IntakeResult {
  const requests = buildRequests(intake);
  const publishers = new Publishers(sockets, intake.app, intake.connections);
  publishers.fill();
  let sent = 0;
  const answered = () => publishers.acceptedCount + publishers.refusedCount;

  const runFor = (seconds: number): number => {
    const startMs = performance.now();
    const untilMs = startMs + seconds * 1000;
    while (performance.now() < untilMs) {
      // One request waits for each one in flight, so that an answered connection sends the next one at once.
      while (sent < answered() + 2 * intake.connections) {
        const request = requests[sent % requests.length];
        if (request !== undefined) publishers.send(request);
        sent += 1;
      }
      sockets.poll(10);
    }
    return (performance.now() - startMs) / 1000;
  };

  runFor(intake.warmupSeconds);
  const before = publishers.acceptedCount;
  const idleMsBefore = sockets.idleMs;
  const tookSeconds = runFor(intake.seconds);
  const idleMs = sockets.idleMs - idleMsBefore;
  const accepted = publishers.acceptedCount - before;

  const deadlineMs = performance.now() + LAST_ANSWERS_MS;
  while (answered() < sent && performance.now() < deadlineMs) sockets.poll(10);
  return {
    accepted: publishers.acceptedCount,
    requestsPerSecond: accepted / tookSeconds,
    refused: sent - publishers.acceptedCount,
    firstRefusal: publishers.firstRefusal,
    busyShare: 1 - idleMs / 1000 / tookSeconds,
  };
}

function buildRequests(intake: Intake): Buffer[] {
  const { app, channels } = intake;
  return channels === undefined ? buildForNobody(intake) : buildFor(channels, intake, app);
}

/** Enough that no request is the same as one shortly before it. */
const REQUESTS_TO_CHANNELS = 2000;

function buildFor(
  channels: readonly string[],
  { eventsEach, dataBytes }: Intake,
  app: AppAddress,
): Buffer[] {
  return Array.from({ length: REQUESTS_TO_CHANNELS }, (_, index) => {
    const some = Array.from(
      { length: eventsEach },
      (_, at) => channels[(index * eventsEach + at) % channels.length] ?? '',
    );
    return signedRequest(app, '/events', eventBody(some, eventData(index, dataBytes)));
  });
}

function buildForNobody({ app, eventsEach, dataBytes }: Intake): Buffer[] {
  const channelOf = (sequence: number) => `nobody-${String(sequence % CHANNELS).padStart(3, '0')}`;
  return Array.from({ length: REQUESTS }, (_, index) => {
    const first = index * eventsEach;
    if (eventsEach === 1) {
      const body = eventBody(channelOf(first), eventData(first, dataBytes));
      return signedRequest(app, '/events', body);
    }
    const batch = Array.from({ length: eventsEach }, (_, at) => ({
      name: EVENT_NAME,
      channel: channelOf(first + at),
      data: eventData(first + at, dataBytes),
    }));
    return signedRequest(app, '/batch_events', JSON.stringify({ batch }));
  });
}
