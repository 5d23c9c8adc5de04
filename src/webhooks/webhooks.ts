import type { AppWebhookEvent } from '../channels/lifecycle/webhook-event.ts';
import type { SendRequest } from '../outgoing/request.ts';
import { messageOf } from '../runtime/error-code.ts';
import { LogThrottle } from '../runtime/logging/log-throttle.ts';
import { Mutex } from '../runtime/mutex.ts';
import type { Clock, Log, Timers } from '../runtime/ports.ts';
import { SortableIds } from '../runtime/sortable-ids.ts';
import { PatientClock } from '../runtime/time/patient-clock.ts';
import { Poller } from '../runtime/time/poller.ts';
import { type DropCause, Intake, type PreparedRequest } from './intake.ts';
import {
  ACCEPTED_CHARACTERS_MAX,
  DUE_WITHIN_MS,
  EVENT_IDS_KEPT_MS,
  FLUSH_ATTEMPTS,
  FLUSH_EVENTS,
  FLUSH_MS,
  HEALTH_KEPT_MS,
  MAINTENANCE_MS,
  PUSH_TIMEOUT_MS,
  STORE_PAUSE_MS,
  TESTS_MAX,
} from './limits.ts';
import { enforceLogRetention } from './log-retention.ts';
import type {
  AttemptOutcome,
  Outbox,
  OutboxEntry,
  OutboxEntryDetails,
  OutboxFilter,
  OutboxLog,
  Settlement,
  WebhookAttempt,
} from './outbox.ts';
import { OutboxWriter } from './outbox-writer.ts';
import { type EndpointHealth, EndpointHealthBook } from './sending/endpoint-health.ts';
import { EndpointQueues } from './sending/endpoint-queues.ts';
import { WebhookSender } from './sending/sender.ts';
import { sign, type WebhookOwners } from './sending/sign.ts';
import { sendTest } from './sending/test-request.ts';

export interface WebhooksOptions extends WebhookOwners {
  readonly outbox: Outbox;
  readonly outboxLog: OutboxLog;
  /** `timeoutSeconds` is for the webhooks of apps. */
  readonly settings: { readonly timeoutSeconds: number; readonly logDays: number };
  /** Must refuse private addresses. */
  readonly send: SendRequest;
  readonly log: Log;
  readonly timers: Timers;
  /** A clock that is never set. */
  readonly monotonic: Clock;
  readonly random?: () => number;
  /** The limit for events that are not yet in the store, and the same again for requests of push. */
  readonly charactersMax?: number;
  /** Whether other servers use the outbox as well: then their claims are left alone. */
  readonly shared?: boolean;
  /** Called after each attempt to send a request of an app. */
  readonly onAttempt?: (settlement: Settlement) => void;
  /** Called after each write to the store: `undefined` if it worked, else the error. */
  readonly storeState?: (error: unknown) => void;
}

export interface WebhookFigures {
  /** Requests that wait in the store, including those in flight. */
  readonly queuedRows: number;
  readonly queuedBytes: number;
  /** How long the oldest waiting request has waited, exact to 30 s; 0 if none waits. */
  readonly oldestAgeMs: number;
  /** Events in memory that are written within 250 ms. */
  readonly unwrittenEvents: number;
  readonly inFlight: number;
  /** Events dropped since the start, by the limit that was reached. */
  readonly dropped: Readonly<Record<DropCause, number>>;
  /** Attempts since the start. */
  readonly attempts: Readonly<Record<AttemptOutcome, number>>;
}

/** What waits for one address. */
export interface WaitingFor {
  readonly waiting: number;
  readonly oldestWaitingAtMs: number | undefined;
}

/** The webhooks of this server: those to be sent, and the log. */
export class Webhooks implements AsyncDisposable {
  private readonly options: WebhooksOptions;
  private readonly timers: Timers;
  private readonly queues = new EndpointQueues();
  private readonly ids = new SortableIds();
  private readonly retentionClock: PatientClock;
  private readonly health = new EndpointHealthBook();
  private readonly intake: Intake;
  private readonly writer: OutboxWriter;
  private readonly sender: WebhookSender;
  /** One write or other change of the store at a time, so that the queues agree with it. */
  private readonly storeAccess = new Mutex();
  private cancelFlush: (() => void) | undefined;
  private readonly maintenance: Poller;
  private ended = false;
  /** Tests under way. */
  private tests = 0;

  private constructor(options: WebhooksOptions) {
    this.options = options;
    const { outbox, app, settings, send, log, timers } = options;
    const { queues } = this;
    const throttle = new LogThrottle(timers);
    const channelsTimeoutMs = settings.timeoutSeconds * 1_000;
    this.timers = timers;
    this.maintenance = new Poller(timers, () => this.maintain());
    this.retentionClock = new PatientClock({ system: timers, monotonic: options.monotonic });
    this.intake = new Intake({
      app,
      ids: this.ids,
      queues,
      timers,
      log,
      throttle,
      charactersMax: options.charactersMax ?? ACCEPTED_CHARACTERS_MAX,
    });
    this.writer = new OutboxWriter({
      outbox,
      intake: this.intake,
      log,
      throttle,
      storeState: options.storeState ?? (() => undefined),
    });
    this.sender = new WebhookSender({
      outbox,
      writer: this.writer,
      queues,
      settle: (settlement) => this.settle(settlement),
      onAttempt: (settlement) => {
        if (settlement.request.kind === 'channels') options.onAttempt?.(settlement);
      },
      health: this.health,
      timers,
      log,
      throttle,
      random: options.random ?? Math.random,
      send,
      sign: (request, body) => sign(request, body, options),
      timeoutMs: { channels: channelsTimeoutMs, push: PUSH_TIMEOUT_MS, publish: PUSH_TIMEOUT_MS },
    });
  }

  /** Forgets how the endpoints of deleted apps or instances have answered. Their requests are no longer in the store. */
  forget(noun: 'app' | 'instance', ids: readonly string[]): void {
    for (const id of ids) this.health.forgetOwner(noun, id);
  }

  /**
   * Starts sending webhooks, beginning with those that an earlier process left. Each is sent at least once: if the
   * process ends before an answer is stored, the request is sent again.
   */
  static async open(options: WebhooksOptions): Promise<Webhooks> {
    const webhooks = new Webhooks(options);
    await webhooks.begin();
    return webhooks;
  }

  private async begin(): Promise<void> {
    const { outbox, outboxLog, log, shared = false } = this.options;
    const [newest] = await outboxLog.list({ limit: 1 });
    if (newest !== undefined) this.ids.follow(newest.id);
    // This process owns the store, so any claims are of processes that have ended.
    if (!shared) await outbox.releaseAllClaims();
    this.queues.refresh(await outbox.backlog());
    if (this.queues.rows > 0) log.info('Webhooks waiting', { requests: this.queues.rows });
    this.sender.poll();
    this.maintenance.wakeLater(MAINTENANCE_MS);
  }

  /**
   * Accepts events. Within 250 ms they are stored, and survive a crash. Events that no endpoint wants are ignored.
   * Never throws or waits: beyond a limit, events are dropped and counted. `onSettled` is called with the id of each
   * event that has one, once it is stored or dropped.
   */
  accept(events: readonly AppWebhookEvent[], onSettled?: (id: string) => void): void {
    for (const event of events) this.intake.addEvent(event, onSettled);
    this.flushIfNeeded();
  }

  /**
   * Takes a finished request, under the same rules as events. Settles once it is stored or dropped; never, if neither
   * happens before the end.
   */
  send(request: PreparedRequest): Promise<void> {
    const stored = this.intake.addRequest(request);
    this.flushIfNeeded();
    return stored;
  }

  /** The newest first. */
  list(filter: OutboxFilter): Promise<readonly OutboxEntry[]> {
    return this.options.outboxLog.list(filter);
  }

  show(id: string): Promise<OutboxEntryDetails | undefined> {
    return this.options.outboxLog.show(id);
  }

  /** Sends a finished request again, with all its tries. A waiting one is left as it is. */
  replay(id: string): Promise<'replayed' | 'waiting' | 'unknown'> {
    return this.storeAccess.run(async () => {
      const nowMs = this.timers.now();
      const replayed = await this.options.outboxLog.replay(id, nowMs);
      if (typeof replayed === 'string') return replayed;
      this.queues.addReplayed(replayed, nowMs);
      this.sender.poll();
      return 'replayed';
    });
  }

  /**
   * Sends a request without events to a webhook of an app once, outside of all queues, and returns the result. It is
   * not stored. `busy`: the limit of concurrent tests is reached.
   */
  async test(
    appId: string,
    url: string,
  ): Promise<WebhookAttempt | 'busy' | { readonly refused: string }> {
    if (this.tests >= TESTS_MAX) return 'busy';
    this.tests++;
    try {
      return await sendTest({ ...this.options, random: Math.random }, { appId, url });
    } finally {
      this.tests--;
    }
  }

  /** How the addresses tried in the last 24 h answer, and the requests that wait for each. */
  endpoints(): readonly (EndpointHealth & WaitingFor)[] {
    return Array.from(this.health.all(), (one) => {
      const { rows, oldestAtMs } = this.queues.waitingFor(one.endpoint);
      return { ...one, waiting: rows, oldestWaitingAtMs: oldestAtMs };
    });
  }

  figures(): WebhookFigures {
    const oldestAtMs = this.queues.oldestAtMs();
    return {
      queuedRows: this.queues.rows,
      queuedBytes: this.queues.bytes,
      oldestAgeMs: oldestAtMs === undefined ? 0 : Math.max(0, this.timers.now() - oldestAtMs),
      unwrittenEvents: this.intake.size,
      inFlight: this.queues.inFlight,
      dropped: { ...this.intake.dropped },
      attempts: { ...this.sender.outcomes },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    this.intake.close();
    const maintained = this.maintenance.stop();
    // Accepted events are stored first, the answers to requests in flight after them.
    const answered = this.sender.end();
    await this.storeAccepted();
    await answered;
    await this.flush();
    this.cancelFlush?.();
    await maintained;
  }

  /** Stores all events that were accepted. */
  async storeAccepted(): Promise<void> {
    do await this.flush();
    while (this.intake.size > 0 && !this.writer.isFailing);
  }

  private settle(settlement: Settlement): void {
    const waiting = this.writer.settle(settlement);
    if (waiting % FLUSH_ATTEMPTS === 0 && !this.writer.isFailing) void this.flush();
    else this.flushSoon();
  }

  private flushIfNeeded(): void {
    if (this.ended || this.intake.size === 0) return;
    if (this.intake.size >= FLUSH_EVENTS && !this.writer.isFailing) void this.flush();
    else this.flushSoon();
  }

  private flushSoon(ms = FLUSH_MS): void {
    this.cancelFlush ??= this.timers.after(ms, () => void this.flush());
  }

  /** Writes the requests that are in memory. Never throws; a failed write is repeated a second later. */
  private flush(): Promise<void> {
    this.cancelFlush?.();
    this.cancelFlush = undefined;
    return this.storeAccess.run(async () => {
      const isRetry = this.writer.isFailing;
      const isWritten = await this.writeCommit();
      if (isRetry && isWritten) await this.writeCommit();
    });
  }

  /** Writes one commit and applies it to the queues. `false` if the store failed. */
  private async writeCommit(): Promise<boolean> {
    const commit = await this.writer.write();
    if (commit === undefined) {
      this.flushSoon(STORE_PAUSE_MS);
      return false;
    }
    const nowMs = this.timers.now();
    for (const { endpoint } of commit.requests) this.queues.dueFrom(endpoint, nowMs);
    for (const settlement of commit.settled) this.queues.settled(settlement);
    // There may be more than one commit should hold.
    this.flushIfNeeded();
    this.sender.poll();
    return true;
  }

  private async maintain(): Promise<number> {
    const { outbox, outboxLog, settings, log, shared = false } = this.options;
    const nowMs = this.retentionClock.now();
    this.health.forget(nowMs - HEALTH_KEPT_MS);
    try {
      if (shared) {
        await outbox.unblock();
        await outbox.forgetEventIds(nowMs - EVENT_IDS_KEPT_MS);
      }
      const clockMs = this.timers.now();
      if (await outbox.bringForward(clockMs, clockMs + DUE_WITHIN_MS)) {
        log.warn('The clock was set back: webhooks that waited for it are sent now');
      }
      await enforceLogRetention(outboxLog, settings.logDays, nowMs);
      await this.storeAccess.run(async () => {
        // While a write fails, the queues count requests that the store does not have yet.
        if (!this.writer.isFailing) this.queues.refresh(await outbox.backlog());
      });
      this.sender.poll();
    } catch (error) {
      log.warn('Maintenance of the webhook log failed', { why: messageOf(error) });
    }
    return MAINTENANCE_MS;
  }
}
