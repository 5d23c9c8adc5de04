import { createSecureContext } from 'node:tls';
import { messageOf } from '../runtime/error-code.ts';
import type { Log, Timers } from '../runtime/ports.ts';
import { Poller } from '../runtime/time/poller.ts';
import type { Certificate } from '../runtime/tls/certificate.ts';
import { AcmeFault } from './acme/fault.ts';
import type { SendToAuthority } from './acme/link.ts';
import { orderCertificate } from './acme/order.ts';
import type { CertificateStore, KeptCertificate, KeptState, OrderEnd, OrderPlan } from './kept.ts';
import { begun, dueAtMs, failed, planFor, subjectOf, succeeded, validity } from './order-plan.ts';
import { makeSelfSigned } from './self-signed.ts';

/** How often the store is read if other servers share it. Milliseconds. */
const POLL_MS = 2_000;

/** After this time, every server has read a new challenge from the store. Milliseconds. */
const OFFER_MS = 3 * POLL_MS;

/**
 * The timeout of one order. The lease lasts longer, so no other server begins an order in that time. Milliseconds.
 */
const ORDER_MS = 5 * 60_000;
const LEASE_MS = 8 * 60_000;

export interface CertificatesOptions {
  readonly directory: string;
  readonly email: string;
  readonly domains: readonly string[];
  readonly store: CertificateStore;
  readonly send: SendToAuthority;
  readonly timers: Timers;
  readonly random: () => number;
  /** Called with each new certificate. */
  readonly changed: (certificate: Certificate) => void;
  readonly onOrder: (outcome: 'succeeded' | 'failed') => void;
  readonly log: Log;
}

/** What an operator should know of the certificate. Times are in milliseconds since 1970. */
export interface CertificateState {
  /** `undefined`: there is none yet, and a self-signed one stands in for it. */
  readonly endsAtMs: number | undefined;
  /** Why the last order failed; empty: it did not. */
  readonly problem: string;
  /** When the next order is due. */
  readonly nextAtMs: number;
}

/**
 * Gets the certificate of this server by ACME and renews it. Of several servers with one store, one orders, and all
 * use the certificate.
 */
export class Certificates implements AsyncDisposable {
  private readonly options: CertificatesOptions;
  private readonly server = crypto.randomUUID();
  private readonly subject: string;
  private readonly stopping = new AbortController();
  private revision: number;
  private kept: KeptState;
  private plan: OrderPlan;
  private inUse: Certificate;
  /** The result of an order that could not be stored yet. */
  private unstored: OrderEnd | undefined;
  private storeFailed = false;
  private readonly turns: Poller;

  private constructor(options: CertificatesOptions, revision: number, kept: KeptState) {
    this.options = options;
    this.turns = new Poller(options.timers, () => this.takeTurn());
    this.subject = subjectOf(options);
    this.revision = revision;
    this.kept = kept;
    this.plan = planFor(this.subject, kept, options.random);
    const { domains, timers } = options;
    this.inUse = kept.certificate ?? makeSelfSigned(domains, timers.now());
  }

  /** Reads the stored state. Throws what the store throws. */
  static async open(options: CertificatesOptions): Promise<Certificates> {
    const revision = await options.store.revision();
    return new Certificates(options, revision, await options.store.read());
  }

  /** The certificate to start with: the stored one, or a self-signed one that no client trusts. */
  get certificate(): Certificate {
    return this.inUse;
  }

  get state(): CertificateState {
    const { certificate } = this.kept;
    const { problem } = this.plan;
    const nextAtMs = dueAtMs(this.plan, this.options.timers.now());
    return { endsAtMs: certificate && validity(certificate).untilMs, problem, nextAtMs };
  }

  /** The answer to an authority's challenge, by its token. */
  answer(token: string): string | undefined {
    return this.kept.challenges.get(token);
  }

  /** Clears the delay after a failed order, so that the next one follows soon. The limits still hold. */
  retry(): void {
    if (this.plan.failures === 0) return;
    this.plan = { ...this.plan, nextAtMs: this.options.timers.now() };
  }

  /** Starts the timers: from now on, orders are made when they are due. */
  start(): void {
    this.turns.wake();
  }

  /** Aborts an order in progress. Another server, or the next start, makes a new one. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stopping.abort();
    await this.turns.stop();
  }

  private async takeTurn(): Promise<number> {
    const { store, timers, log } = this.options;
    try {
      if (this.unstored !== undefined) await this.store(this.unstored);
      if (store.isShared) await this.readAgain();
      this.storeFailed = false;
      if (timers.now() >= dueAtMs(this.plan, timers.now())) await this.order();
    } catch (error) {
      if (!this.storeFailed)
        log.error('The store of certificates cannot be used', { why: messageOf(error) });
      this.storeFailed = true;
    }
    return POLL_MS;
  }

  private async readAgain(): Promise<void> {
    const { store } = this.options;
    const revision = await store.revision();
    if (revision === this.revision) return;
    const kept = await store.read();
    this.revision = revision;
    const before = this.kept.certificate?.cert;
    this.kept = kept;
    this.plan = planFor(this.subject, kept, this.options.random);
    if (kept.certificate !== undefined && kept.certificate.cert !== before)
      this.use(kept.certificate);
  }

  private async order(): Promise<void> {
    const { store, timers, random, domains, directory, log, onOrder } = this.options;
    const nowMs = timers.now();
    const plan = begun(this.plan, nowMs, random);
    const claim = { server: this.server, revision: this.revision, nowMs, plan };
    if (!(await store.claim({ ...claim, untilMs: nowMs + LEASE_MS }))) {
      if (!store.isShared) this.revision = await store.revision();
      return;
    }
    log.info('Ordering a certificate', { domains: domains.join(' '), directory });
    const before = this.plan;
    this.plan = plan;
    const end = await this.endOf(plan);
    if (this.stopping.signal.aborted && end.certificate === undefined) {
      // The order counts towards the limit, but not as a failure.
      await store.end({ ...end, plan: { ...before, ordersAtMs: plan.ordersAtMs } });
      return;
    }
    onOrder(end.certificate === undefined ? 'failed' : 'succeeded');
    this.plan = end.plan;
    if (end.certificate !== undefined) this.use(end.certificate);
    this.report(end);
    // Kept until it can be stored: an authority issues few certificates per week, so we must not lose one.
    this.unstored = end;
    await this.store(end);
  }

  private async endOf(plan: OrderPlan): Promise<OrderEnd> {
    const { timers, random } = this.options;
    const { server, subject } = this;
    try {
      const certificate = { ...(await this.send()), subject };
      return { server, certificate, plan: succeeded(plan, certificate, random) };
    } catch (error) {
      const { type, retryAfterMs } =
        error instanceof AcmeFault ? error : { type: '', retryAfterMs: undefined };
      const failure = { message: messageOf(error), type, retryAfterMs };
      return { server, certificate: undefined, plan: failed(plan, failure, timers.now()) };
    }
  }

  private async send(): Promise<Certificate> {
    const { store, timers } = this.options;
    const tooLong = new AbortController();
    const cancel = timers.after(ORDER_MS, () => tooLong.abort());
    try {
      return await orderCertificate({
        ...this.options,
        account: this.kept.account,
        keepAccount: async (account) => {
          await store.keepAccount(account);
          this.kept = { ...this.kept, account };
        },
        offer: (challenges) => this.offer(challenges),
        signal: AbortSignal.any([tooLong.signal, this.stopping.signal]),
      });
    } finally {
      cancel();
    }
  }

  /** Gives every server the answers: the authority may ask any of them. */
  private async offer(challenges: ReadonlyMap<string, string>): Promise<void> {
    const { store, timers } = this.options;
    this.kept = { ...this.kept, challenges };
    if (!store.isShared) return;
    await store.offer(challenges);
    const read = Promise.withResolvers<void>();
    const cancel = timers.after(OFFER_MS, read.resolve);
    this.stopping.signal.addEventListener('abort', () => read.resolve(), { once: true });
    await read.promise;
    cancel();
  }

  private async store(end: OrderEnd): Promise<void> {
    const { store } = this.options;
    await store.end(end);
    this.unstored = undefined;
    this.kept = { ...this.kept, plan: end.plan, challenges: new Map() };
    // On a shared store, read it again: another server may have claimed the lease before this order ended.
    this.revision = store.isShared ? -1 : await store.revision();
  }

  private use(certificate: KeptCertificate): void {
    const { changed, log } = this.options;
    try {
      // The listener would also throw this error, but only after it has closed.
      createSecureContext({ cert: certificate.cert, key: certificate.key });
    } catch (error) {
      log.error('The new certificate cannot be used', { why: messageOf(error) });
      return;
    }
    this.kept = { ...this.kept, certificate };
    this.inUse = certificate;
    changed(certificate);
  }

  private report({ plan, certificate }: OrderEnd): void {
    const { log, timers } = this.options;
    const next = new Date(dueAtMs(plan, timers.now())).toISOString();
    if (certificate === undefined) {
      const { problem: why, failures } = plan;
      log.error('No certificate was obtained', { why, failures, next });
      return;
    }
    const ends = new Date(validity(certificate).untilMs).toISOString();
    log.info('A certificate was obtained', { ends, renewal: next });
  }
}
