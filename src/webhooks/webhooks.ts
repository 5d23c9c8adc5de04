import type { AppWebhookEvent } from '../channels/lifecycle/webhook-event.ts';
import type { SendRequest } from '../outgoing/request.ts';
import { LogThrottle } from '../runtime/log-throttle.ts';
import type { Log, Timers } from '../runtime/ports.ts';
import { Collector } from './collector.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { FLUSH_EVENTS, PUSH_TIMEOUT_MS, ROUND_MS } from './limits.ts';
import { enforceLogRetention } from './log-retention.ts';
import type {
  AttemptOutcome,
  NewOutboxRequest,
  Outbox,
  OutboxEntry,
  OutboxEntryDetails,
  OutboxFilter,
  OutboxLog,
  OutboxRequest,
} from './outbox.ts';
import { OutboxWriter } from './outbox-writer.ts';
import { type ReadyRequest, ReadyRequests } from './ready-requests.ts';
import { Sender } from './sender.ts';
import { sign, type WebhookOwners } from './sign.ts';

export interface WebhooksOptions extends WebhookOwners {
  readonly outbox: Outbox;
  readonly outboxLog: OutboxLog;
  /** `timeoutSeconds` is for the webhooks of apps. */
  readonly settings: { readonly timeoutSeconds: number; readonly logDays: number };
  /** Must keep the guard against private addresses. */
  readonly send: SendRequest;
  readonly log: Log;
  readonly timers: Timers;
  readonly random?: () => number;
  /** Whether other servers use the outbox as well: what they have claimed is then left to them. */
  readonly shared?: boolean;
  /** Hears whether the store could be written: `undefined` where it could, else the error. */
  readonly storeState?: (error: unknown) => void;
}

export interface WebhookFigures {
  /** Requests that wait in the store, those under way included. */
  readonly queuedRows: number;
  readonly queuedBytes: number;
  /** How long the oldest of them has waited; exact to half a minute. 0 where nothing waits. */
  readonly oldestAgeMs: number;
  /** Events in memory that are written within 250 ms. */
  readonly unwrittenEvents: number;
  readonly inFlight: number;
  /** Events that were dropped since the start, by what was full. */
  readonly dropped: Readonly<Record<DropCause, number>>;
  /** Attempts since the start. */
  readonly attempts: Readonly<Record<AttemptOutcome, number>>;
}

/** What is full when an event is dropped: the memory before the store, the store, or the endpoint's share. */
export type DropCause = 'memory' | 'outbox' | 'endpoint';

/** What became of the wish to send a request again. */
export type ReplayResult = 'replayed' | 'waiting' | 'unknown';

/** Webhooks of this server, on their way and in the log. */
export interface Webhooks extends AsyncDisposable {
  /**
   * Takes events; at most 250 ms later they are in the store, and survive the process. What nobody wants
   * is forgotten here. Never throws and never waits: where there is no room, events are dropped and counted.
   */
  accept(events: readonly AppWebhookEvent[]): void;
  /**
   * Takes a request that somebody else has made; what is said of events holds for it as well. Settles when it is in
   * the store, or was dropped; not where neither came to pass before the end.
   */
  send(request: ReadyRequest): Promise<void>;
  /** The newest first. */
  list(filter: OutboxFilter): Promise<readonly OutboxEntry[]>;
  show(id: string): Promise<OutboxEntryDetails | undefined>;
  /** Sends a finished request again, with all its tries; one that still waits is left as it is. */
  replay(id: string): Promise<ReplayResult>;
  figures(): WebhookFigures;
}

/**
 * Opens the way out for webhooks, and goes on with what the last process left. Each request is sent at least
 * once: one whose answer was not yet written when the process ended is sent again.
 */
export async function openWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const webhooks = new StoredWebhooks(options);
  await webhooks.begin();
  return webhooks;
}

class StoredWebhooks implements Webhooks {
  private readonly options: WebhooksOptions;
  private readonly timers: Timers;
  private readonly throttle: LogThrottle;
  private readonly collector: Collector;
  private readonly ready = new ReadyRequests();
  private readonly queues = new EndpointQueues();
  private readonly writer: OutboxWriter;
  private readonly sender: Sender;
  private readonly dropped: Record<DropCause, number> = { memory: 0, outbox: 0, endpoint: 0 };
  /** Of the requests that are being written. */
  private settles: (() => void)[] = [];
  private cancelRound: (() => void) | undefined;
  private round: Promise<void> = Promise.resolve();
  private ended = false;

  constructor(options: WebhooksOptions) {
    this.options = options;
    const { outbox, app, settings, send, log, timers } = options;
    const channelsTimeoutMs = settings.timeoutSeconds * 1_000;
    this.timers = timers;
    this.throttle = new LogThrottle(timers);
    this.collector = new Collector(app);
    this.writer = new OutboxWriter({
      outbox,
      timers,
      log,
      throttle: this.throttle,
      storeState: options.storeState ?? (() => undefined),
      take: () => this.take(),
      written: ({ requests, settled }) => {
        const nowMs = timers.now();
        for (const { endpoint } of requests) this.queues.dueFrom(endpoint, nowMs);
        for (const settlement of settled) this.queues.settled(settlement);
        for (const settle of this.settles.splice(0)) settle();
        // Events that did not fit into this commit.
        this.writeSoon();
        this.sender.pump();
      },
    });
    this.sender = new Sender({
      outbox,
      writer: this.writer,
      queues: this.queues,
      timers,
      log,
      throttle: this.throttle,
      random: options.random ?? Math.random,
      send,
      sign: (request, body) => sign(request, body, options),
      timeoutMs: { channels: channelsTimeoutMs, push: PUSH_TIMEOUT_MS, publish: PUSH_TIMEOUT_MS },
    });
  }

  async begin(): Promise<void> {
    const { outbox, log, shared = false } = this.options;
    // This process has the store to itself: whoever claimed these is gone.
    if (!shared) await outbox.releaseClaims();
    this.queues.refresh(await outbox.backlog());
    if (this.queues.rows > 0) log.info('Webhooks wait to be sent', { requests: this.queues.rows });
    this.sender.pump();
    this.nextRound();
  }

  accept(events: readonly AppWebhookEvent[]): void {
    for (const event of events) {
      const dropped = this.ended
        ? [{ ownerId: event.appId, events: 1 }]
        : this.collector.add(event);
      for (const { ownerId, events: count } of dropped) {
        this.drop('memory', count, { kind: 'channels', ownerId });
      }
    }
    this.writeSoon();
  }

  send(request: ReadyRequest): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.ended) {
      this.drop('memory', 1, request);
      return promise;
    }
    for (const dropped of this.ready.add(request, this.timers.now(), resolve)) {
      this.drop('memory', 1, dropped.request);
      dropped.settle();
    }
    this.writeSoon();
    return promise;
  }

  list(filter: OutboxFilter): Promise<readonly OutboxEntry[]> {
    return this.options.outboxLog.list(filter);
  }

  show(id: string): Promise<OutboxEntryDetails | undefined> {
    return this.options.outboxLog.show(id);
  }

  replay(id: string): Promise<ReplayResult> {
    return this.writer.alone(async () => {
      const nowMs = this.timers.now();
      const replayed = await this.options.outboxLog.replay(id, nowMs);
      if (typeof replayed === 'string') return replayed;
      this.queues.readmit(replayed, nowMs);
      this.sender.pump();
      return 'replayed';
    });
  }

  figures(): WebhookFigures {
    const oldestAtMs = this.queues.oldestAtMs();
    return {
      queuedRows: this.queues.rows,
      queuedBytes: this.queues.bytes,
      oldestAgeMs: oldestAtMs === undefined ? 0 : Math.max(0, this.timers.now() - oldestAtMs),
      unwrittenEvents: this.unwritten,
      inFlight: this.queues.inFlight,
      dropped: { ...this.dropped },
      attempts: { ...this.sender.outcomes },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    this.cancelRound?.();
    // What was accepted is safe first; the answers of what is under way come after it.
    const answered = this.sender.end();
    do await this.writer.flush();
    while (this.unwritten > 0 && !this.writer.failing);
    await answered;
    await this.writer.flush();
    this.writer.stop();
    await this.round;
  }

  private get unwritten(): number {
    return this.collector.events + this.ready.count;
  }

  private writeSoon(): void {
    if (this.ended || this.unwritten === 0) return;
    if (this.unwritten >= FLUSH_EVENTS && !this.writer.failing) void this.writer.flush();
    else this.writer.soon();
  }

  /** The next new requests that there is room for, not more than one commit should hold. */
  private take(): readonly NewOutboxRequest[] {
    const admitted: NewOutboxRequest[] = [];
    const offer = (request: NewOutboxRequest, events: number) => {
      const answer = this.queues.admit(request);
      if (answer === 'admitted') admitted.push(request);
      else this.drop(answer, events, request);
      return answer === 'admitted';
    };
    for (const { request, events } of this.collector.take(this.timers.now(), FLUSH_EVENTS))
      offer(request, events);
    for (const { request, settle } of this.ready.take(FLUSH_EVENTS)) {
      if (offer(request, 1)) this.settles.push(settle);
      else settle();
    }
    return admitted;
  }

  private drop(
    full: DropCause,
    events: number,
    { kind, ownerId }: Pick<OutboxRequest, 'kind' | 'ownerId'>,
  ): void {
    this.dropped[full] += events;
    const owner = kind === 'channels' ? 'app' : 'instance';
    this.throttle.run(`dropped ${full} ${kind} ${ownerId}`, (throttled) =>
      this.options.log.error('Webhook events dropped', {
        full,
        events,
        [owner]: ownerId,
        ...throttled,
      }),
    );
  }

  private nextRound(): void {
    if (this.ended) return;
    this.cancelRound = this.timers.after(ROUND_MS, () => {
      this.round = this.doRound().finally(() => this.nextRound());
    });
  }

  /** What has to be done now and then. */
  private async doRound(): Promise<void> {
    const { outbox, outboxLog, settings, log, shared = false } = this.options;
    try {
      if (shared) await outbox.releaseHeld();
      await enforceLogRetention(outboxLog, settings.logDays, this.timers.now());
      // Counts differ from what is stored while something is still to be written.
      await this.writer.alone(async () => {
        if (!this.writer.failing) this.queues.refresh(await outbox.backlog());
      });
      this.sender.pump();
    } catch (error) {
      log.warn('The log of webhooks could not be tidied', { why: String(error) });
    }
  }
}
