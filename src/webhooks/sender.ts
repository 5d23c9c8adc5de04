import type { LogThrottle } from '../runtime/log-throttle.ts';
import type { Log, Timers } from '../runtime/ports.ts';
import { type AttemptContext, attemptOnce } from './attempt.ts';
import { kindOf, shareOf } from './endpoint.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import { CLAIM_MS, CLOSE_MS, STORE_PAUSE_MS } from './limits.ts';
import type { AttemptOutcome, ClaimedRequest, Outbox, OutboxKind, Settlement } from './outbox.ts';
import type { OutboxWriter } from './outbox-writer.ts';

export interface SenderOptions extends Omit<AttemptContext, 'signal' | 'timeoutMs'> {
  /** How long an endpoint may take to answer. */
  readonly timeoutMs: Readonly<Record<OutboxKind, number>>;
  readonly outbox: Outbox;
  readonly writer: OutboxWriter;
  readonly queues: EndpointQueues;
  readonly timers: Timers;
  readonly log: Log;
  readonly throttle: LogThrottle;
}

/** Takes what is due out of the outbox, sends it, and tells the writer what became of it. */
export class Sender {
  readonly outcomes: Record<AttemptOutcome, number> = {
    delivered: 0,
    refused: 0,
    timeout: 0,
    unreachable: 0,
    'not-allowed': 0,
  };
  private readonly options: SenderOptions;
  private readonly ending = new AbortController();
  private readonly underWay = new Set<Promise<void>>();
  private ended = false;
  private pumping = false;
  private pumped: Promise<void> = Promise.resolve();
  private again = false;
  /** What was being claimed: if it is still here after an error, nobody knows whether the store did it. */
  private claiming: { readonly endpoints: readonly string[]; readonly untilMs: number } | undefined;
  private cancel: (() => void) | undefined;

  constructor(options: SenderOptions) {
    this.options = options;
  }

  /** Sends whatever may be sent now, and comes back by itself when more is due. Never throws. */
  pump(): void {
    this.again = true;
    if (this.pumping || this.ended) return;
    this.pumping = true;
    this.pumped = this.run()
      .catch((error: unknown) => {
        const { log, throttle } = this.options;
        const why = error instanceof Error ? error.message : String(error);
        throttle.run('claim', (throttled) =>
          log.error('Webhooks cannot be read', { why, ...throttled }),
        );
        this.again = false;
        return STORE_PAUSE_MS;
      })
      .then((pauseMs) => {
        this.pumping = false;
        // Somebody may have asked after the last look.
        if (this.again) this.pump();
        else this.wake(pauseMs);
      });
  }

  /**
   * Settles when nothing is under way any more: after the answers, or two seconds later without them. What it
   * has claimed and not sent it gives back, so that nobody has to wait for the end of the claim.
   */
  async end(): Promise<void> {
    this.ended = true;
    this.cancel?.();
    const cancel = this.options.timers.after(CLOSE_MS, () => this.ending.abort());
    // What is being claimed now is given back as well.
    await this.pumped;
    // Where the store is still away, others wait for the end of the claim.
    await this.releaseLostClaim().catch(() => undefined);
    this.giveBackClaimed();
    await Promise.all(this.underWay);
    cancel();
  }

  /** Gives the milliseconds after which there is more to do; infinity where nothing is known of. */
  private async run(): Promise<number> {
    const { outbox, writer, queues, timers, timeoutMs } = this.options;
    while (this.again && !this.ended) {
      this.again = false;
      this.startAll();
      if (!writer.failing) await this.releaseLostClaim();
      // Nothing is taken out of a store that cannot be told what became of it.
      const hungry = writer.failing ? [] : queues.hungry(timers.now());
      if (hungry.length === 0) continue;
      for (const [kind, wanted] of Map.groupBy(hungry, ({ endpoint }) => kindOf(endpoint))) {
        const nowMs = timers.now();
        const untilMs = nowMs + timeoutMs[kind] + CLAIM_MS;
        this.claiming = { endpoints: wanted.map(({ endpoint }) => endpoint), untilMs };
        const claims = await outbox.claim(wanted, nowMs, untilMs);
        this.claiming = undefined;
        for (const claim of claims) queues.feed(claim);
      }
      this.again = true;
    }
    return writer.failing ? STORE_PAUSE_MS : queues.nextDueAtMs() - timers.now();
  }

  /** The store may have claimed something although it could not say so any more. */
  private async releaseLostClaim(): Promise<void> {
    if (this.claiming === undefined) return;
    await this.options.outbox.releaseLostClaim(this.claiming.endpoints, this.claiming.untilMs);
    this.claiming = undefined;
  }

  private wake(pauseMs: number): void {
    this.cancel?.();
    this.cancel = undefined;
    if (this.ended || !Number.isFinite(pauseMs)) return;
    this.cancel = this.options.timers.after(Math.max(0, pauseMs), () => this.pump());
  }

  private startAll(): void {
    const { queues } = this.options;
    for (let request = queues.next(); request !== undefined; request = queues.next()) {
      const sending = this.send(request).finally(() => {
        this.underWay.delete(sending);
        this.pump();
      });
      this.underWay.add(sending);
    }
  }

  private async send(request: ClaimedRequest): Promise<void> {
    const { queues, writer, log, throttle, timers } = this.options;
    let settlement: Settlement | undefined;
    try {
      settlement = await this.attempt(request);
      if (settlement !== undefined) {
        this.count(settlement);
        writer.settle(settlement);
      } else if (this.ended) {
        this.giveBack(request, timers.now());
      }
    } catch (error) {
      const fields = { request: request.id, why: String(error) };
      throttle.run('send', (throttled) =>
        log.error('A webhook could not be sent', { ...fields, ...throttled }),
      );
      this.giveBack(request, timers.now() + STORE_PAUSE_MS);
    }
    const outcome = settlement?.attempt?.outcome;
    queues.done(request.endpoint, outcome !== undefined && outcome !== 'delivered');
  }

  private async attempt(request: ClaimedRequest): Promise<Settlement | undefined> {
    const { outbox, timers, queues } = this.options;
    const timeoutMs = this.options.timeoutMs[request.kind];
    if (request.claimedUntilMs < timers.now() + timeoutMs) {
      // It waited too long for its turn; somebody may claim it again while it is sent.
      queues.dueFrom(request.endpoint, request.claimedUntilMs);
      return undefined;
    }
    const body = await outbox.body(request.id);
    if (body === undefined) return undefined;
    const { signal } = this.ending;
    return await attemptOnce(request, body, { ...this.options, timeoutMs, signal });
  }

  private giveBackClaimed(): void {
    const { queues, timers } = this.options;
    for (const request of queues.takeClaimed()) this.giveBack(request, timers.now());
  }

  private giveBack(request: ClaimedRequest, atMs: number): void {
    this.options.writer.settle({ request, attempt: undefined, next: { state: 'waiting', atMs } });
  }

  private count({ request, attempt, next }: Settlement): void {
    const { log, throttle } = this.options;
    if (attempt !== undefined) this.outcomes[attempt.outcome]++;
    // The host only: the rest of an address may hold a secret.
    const fields = {
      request: request.id,
      [request.kind === 'channels' ? 'app' : 'instance']: request.ownerId,
      host: URL.parse(request.url)?.host,
    };
    if (next.state === 'failed') {
      const { reason } = next;
      throttle.run(`failed ${shareOf(request.endpoint)}`, (throttled) =>
        log.warn('A webhook was given up', { ...fields, reason, ...throttled }),
      );
    } else {
      log.debug('A webhook was sent', { ...fields, outcome: attempt?.outcome });
    }
  }
}
