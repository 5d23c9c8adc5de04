import { messageOf } from '../../runtime/error-code.ts';
import type { LogThrottle } from '../../runtime/logging/log-throttle.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import { Poller } from '../../runtime/time/poller.ts';
import { CLAIM_MS, CLOSE_MS, STORE_PAUSE_MS } from '../limits.ts';
import type { AttemptOutcome, ClaimedRequest, Outbox, OutboxKind, Settlement } from '../outbox.ts';
import { type AttemptContext, attemptOnce } from './attempt.ts';
import { kindOf, shareOf } from './endpoint.ts';
import type { EndpointHealthBook } from './endpoint-health.ts';
import type { EndpointQueues } from './endpoint-queues.ts';

export interface SenderOptions extends Omit<AttemptContext, 'signal' | 'timeoutMs'> {
  /** The timeout of an endpoint. */
  readonly timeoutMs: Readonly<Record<OutboxKind, number>>;
  readonly outbox: Outbox;
  /** While the store cannot be written, nothing is claimed: the results could not be kept. */
  readonly writer: { readonly isFailing: boolean };
  readonly queues: EndpointQueues;
  readonly health: Pick<EndpointHealthBook, 'learn'>;
  /** Called after each attempt, with the body that was sent. */
  readonly onAttempt?: (settlement: Settlement) => void;
  /** Called when each claim ends. */
  readonly settle: (settlement: Settlement) => void;
  readonly timers: Timers;
  readonly log: Log;
  readonly throttle: LogThrottle;
}

/** Claims due requests, sends them, and settles their claims. */
export class WebhookSender {
  /** Attempts since the start. */
  readonly outcomes: Record<AttemptOutcome, number> = {
    delivered: 0,
    refused: 0,
    timeout: 0,
    unreachable: 0,
    'not-allowed': 0,
  };
  private readonly options: SenderOptions;
  private readonly ending = new AbortController();
  private readonly inFlight = new Set<Promise<void>>();
  private ended = false;
  private readonly poller: Poller;
  /** A claim without an answer yet. If it is still here after an error, the store may have claimed these. */
  private unansweredClaim:
    | { readonly endpoints: readonly string[]; readonly untilMs: number }
    | undefined;

  constructor(options: SenderOptions) {
    this.options = options;
    this.poller = new Poller(options.timers, () => this.run());
  }

  /** Sends all requests that may be sent now, and sets a timer for later ones. Never throws. */
  poll(): void {
    this.poller.wake();
  }

  /**
   * Settles when nothing is in flight: after the answers, or two seconds later without them. Claims of requests that
   * were not sent are released, so that other servers need not wait for their end.
   */
  async end(): Promise<void> {
    this.ended = true;
    const cancel = this.options.timers.after(CLOSE_MS, () => this.ending.abort());
    // A claim under way is released as well.
    await this.poller.stop();
    // If the store is still unavailable, the claim expires.
    await this.releaseUnansweredClaim().catch(() => undefined);
    const { queues, timers } = this.options;
    for (const request of queues.takeClaimed()) this.release(request, timers.now());
    await Promise.all(this.inFlight);
    cancel();
  }

  /** Returns the milliseconds until more is due; infinity if nothing is known of. */
  private async run(): Promise<number> {
    const { writer, queues, timers, log, throttle } = this.options;
    try {
      this.startAll();
      if (writer.isFailing) return STORE_PAUSE_MS;
      await this.releaseUnansweredClaim();
      if (await this.claim()) this.poller.wake();
      return Math.max(0, queues.nextDueAtMs() - timers.now());
    } catch (error) {
      const why = messageOf(error);
      throttle.run('claim', (throttled) =>
        log.error('Cannot read webhooks from the store', { why, ...throttled }),
      );
      return STORE_PAUSE_MS;
    }
  }

  /** Claims what may be sent now. Returns whether there was anything to claim. */
  private async claim(): Promise<boolean> {
    const { outbox, queues, timers, timeoutMs } = this.options;
    const wanted = queues.wanted(timers.now());
    for (const [kind, ofKind] of Map.groupBy(wanted, ({ endpoint }) => kindOf(endpoint))) {
      const nowMs = timers.now();
      const untilMs = nowMs + timeoutMs[kind] + CLAIM_MS;
      this.unansweredClaim = { endpoints: ofKind.map(({ endpoint }) => endpoint), untilMs };
      const claims = await outbox.claim({ wanted: ofKind, nowMs, untilMs });
      this.unansweredClaim = undefined;
      for (const claim of claims) queues.addClaimed(claim);
    }
    return wanted.length > 0;
  }

  private async releaseUnansweredClaim(): Promise<void> {
    if (this.unansweredClaim === undefined) return;
    await this.options.outbox.releaseClaim(
      this.unansweredClaim.endpoints,
      this.unansweredClaim.untilMs,
    );
    this.unansweredClaim = undefined;
  }

  private startAll(): void {
    const { queues } = this.options;
    for (let request = queues.next(); request !== undefined; request = queues.next()) {
      const sending = this.send(request).finally(() => {
        this.inFlight.delete(sending);
        this.poll();
      });
      this.inFlight.add(sending);
    }
  }

  private async send(request: ClaimedRequest): Promise<void> {
    const { queues, settle, log, throttle, timers } = this.options;
    let settlement: Settlement | undefined;
    try {
      settlement = await this.attempt(request);
      if (settlement !== undefined) {
        this.countAndLog(settlement);
        settle(settlement);
      } else if (this.ended) {
        this.release(request, timers.now());
      }
    } catch (error) {
      const fields = { request: request.id, why: messageOf(error) };
      throttle.run('send', (throttled) =>
        log.error('Cannot send a webhook', { ...fields, ...throttled }),
      );
      this.release(request, timers.now() + STORE_PAUSE_MS);
    }
    const outcome = settlement?.attempt?.outcome;
    queues.done(request.endpoint, outcome !== undefined && outcome !== 'delivered');
  }

  /** `undefined` if the request was not sent, or if the server stopped waiting for its answer. */
  private async attempt(request: ClaimedRequest): Promise<Settlement | undefined> {
    const { outbox, timers, queues } = this.options;
    const timeoutMs = this.options.timeoutMs[request.kind];
    if (request.claimedUntilMs < timers.now() + timeoutMs) {
      // It waited too long for its turn: another server could claim it while it is sent.
      queues.dueFrom(request.endpoint, request.claimedUntilMs);
      return undefined;
    }
    const body = await outbox.body(request.id);
    if (body === undefined) return undefined;
    const { signal } = this.ending;
    const settlement = await attemptOnce(request, body, { ...this.options, timeoutMs, signal });
    if (settlement !== undefined) this.options.onAttempt?.(settlement);
    return settlement;
  }

  private release(request: ClaimedRequest, atMs: number): void {
    this.options.settle({ request, attempt: undefined, next: { state: 'waiting', atMs } });
  }

  private countAndLog({ request, attempt, next }: Settlement): void {
    const { log, throttle } = this.options;
    if (attempt !== undefined) {
      this.outcomes[attempt.outcome]++;
      this.options.health.learn(request, attempt);
    }
    // The host only: the rest of an address may hold a secret.
    const fields = {
      request: request.id,
      [request.kind === 'channels' ? 'app' : 'instance']: request.ownerId,
      host: URL.parse(request.url)?.host,
    };
    if (next.state === 'failed') {
      const { reason } = next;
      throttle.run(`failed ${shareOf(request.endpoint)}`, (throttled) =>
        log.warn('Webhook failed', { ...fields, reason, ...throttled }),
      );
    } else {
      log.debug('Webhook attempted', { ...fields, outcome: attempt?.outcome });
    }
  }
}
