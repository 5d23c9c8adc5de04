import type { Log, Timers } from '../../runtime/ports.ts';
import type { DeliveryStore } from '../delivery-store.ts';
import type { PublishUnderWay } from '../model/delivery.ts';
import type { PublishStore } from '../publish-store.ts';
import { hasEndToTell, TOLD_WITHIN_MS, type UntoldEnds } from '../pending-completion-events.ts';
import { publishWebhookUrl } from '../webhooks/publish-webhook.ts';
import type { PushWebhookSink } from '../webhooks/sink.ts';
import type { PublishEvents } from './ports.ts';
import { readStoredPublish } from './stored-publish.ts';

export interface CompletionEventsOptions {
  readonly publishes: Pick<PublishStore, 'status'>;
  readonly deliveries: Pick<DeliveryStore, 'usersReached'>;
  readonly untold: UntoldEnds;
  readonly sink: PushWebhookSink;
  /** The id of an instance, by its number; `undefined`: it is not served any more. */
  readonly instanceId: (instance: number) => string | undefined;
  /** Whether no other server uses the store: then what one had to tell that died need not be waited for. */
  readonly isAlone: boolean;
  readonly timers: Timers;
  /** The store could not be asked what is still to be told. */
  readonly storeFailed: (error: unknown) => void;
  readonly log: Log;
}

/** How often it is looked for ends that somebody else should have told. */
const LOOK_MS = 5_000;

/** How many of them are told at once. */
const TOLD_AT_ONCE = 20;

/** One that was claimed and not told is told again after this time. */
const CLAIM_MS = 60_000;

/** Starts that are remembered; what is forgotten is told again with the end. */
const STARTS_MAX = 10_000;

/** How long the end waits for what is being told. */
const CLOSE_MS = 1_000;

/**
 * Tells the webhooks of publishes and of instances how a publish comes on. The end is told at least once: it is in
 * the store from the moment the publish is finished until what tells of it is there, and what a server that died
 * had left is told by the next one. The start is told before the end, and with it where this server does not know
 * whether the one that began has come to do so.
 */
export class CompletionEvents implements PublishEvents, AsyncDisposable {
  private readonly options: CompletionEventsOptions;
  /** Publishes whose start this server has told, in the order in which it did. */
  private readonly starts = new Set<number>();
  /** Publishes whose end is being told. */
  private readonly underWay = new Set<number>();
  private isFirstLook = true;
  private isEnded = false;
  private cancelLook: () => void;
  private onIdle: (() => void) | undefined;

  constructor(options: CompletionEventsOptions) {
    this.options = options;
    this.cancelLook = options.timers.after(0, () => void this.look());
  }

  started(publish: PublishUnderWay): void {
    if (publishWebhookUrl(publish.body) === undefined) return;
    const owner = this.options.instanceId(publish.instance);
    if (owner !== undefined) this.tellStart(owner, publish);
  }

  finished(publish: PublishUnderWay): void {
    if (hasEndToTell(publish.kind, publish.body)) void this.tell(publish, undefined);
  }

  /** Waits a moment for what is being told. The rest stays in the store, for the next server. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isEnded = true;
    this.cancelLook();
    if (this.underWay.size === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.options.timers.after(CLOSE_MS, resolve);
      this.onIdle = () => {
        cancel();
        resolve();
      };
    });
  }

  /** What this server hands over is stored in order: where the start is lost, so is the end, and both are told again. */
  private tellStart(owner: string, { number, id, body, dueAtMs }: PublishUnderWay): void {
    void this.options.sink.publishStarted(owner, { id, body, atMs: dueAtMs });
    this.starts.add(number);
    const [oldest] = this.starts;
    if (this.starts.size > STARTS_MAX && oldest !== undefined) this.starts.delete(oldest);
  }

  /** Tells the end, and then that it is told. Never throws: what fails is told later. */
  private async tell(publish: PublishUnderWay, finishedAtMs: number | undefined): Promise<void> {
    const { untold, instanceId, log } = this.options;
    const { number } = publish;
    const owner = instanceId(publish.instance);
    // Not served by this server, or not yet: it is left to others, or goes with the publish.
    if (owner === undefined || this.underWay.has(number)) return;
    this.underWay.add(number);
    try {
      const atMs = finishedAtMs ?? (await untold.finishedAtMs(number));
      if (atMs !== undefined) {
        await this.tellEnd(owner, publish, atMs);
        await untold.remove(number);
      }
      this.starts.delete(number);
    } catch (error) {
      log.error('The end of a publish could not be told to its webhooks yet', {
        publish: publish.id,
        why: error instanceof Error ? error.message : String(error),
      });
    } finally {
      this.underWay.delete(number);
      if (this.underWay.size === 0) this.onIdle?.();
    }
  }

  /** Settles when what tells of it is in the store. */
  private async tellEnd(owner: string, publish: PublishUnderWay, atMs: number): Promise<void> {
    const { publishes, deliveries, sink } = this.options;
    const { id, instance, number, kind, body, dueAtMs } = publish;
    const told: Promise<void>[] = [];
    if (publishWebhookUrl(body) !== undefined) {
      const status = await publishes.status(instance, id, dueAtMs);
      if (status !== undefined) {
        if (!this.starts.has(number)) this.tellStart(owner, publish);
        // Sorted after the start, however short it was or the clock was set.
        const endedAtMs = Math.max(atMs, dueAtMs + 1);
        const end = { id, body, atMs: endedAtMs, startedAtMs: dueAtMs };
        told.push(sink.publishFinished(owner, end, status.platforms));
      }
    }
    if (kind === 'users' && sink.wants(owner, 'v1.PublishToUsersAttempt')) {
      const { delivered, failed } = await deliveries.usersReached(number);
      const known = new Set([...delivered, ...failed]);
      const names = readStoredPublish(publish)?.target.names ?? [];
      const noDevices = names.filter((name) => !known.has(name));
      const users = { delivered, gatewayFailed: failed, noDevices };
      told.push(sink.usersAttempted(owner, { id, atMs }, users));
    }
    await Promise.all(told);
  }

  /** Tells what others should have told, some at a time. */
  private async look(): Promise<void> {
    const { untold, isAlone, timers, storeFailed } = this.options;
    let afterMs = LOOK_MS;
    try {
      const nowMs = timers.now();
      // Whoever has finished what was there before this server is gone, if nobody else is here.
      const dueMs = this.isFirstLook && isAlone ? nowMs + TOLD_WITHIN_MS : nowMs;
      const ends = await untold.claim(dueMs, nowMs + CLAIM_MS, TOLD_AT_ONCE);
      await Promise.all(ends.map((end) => this.tell(end.publish, end.finishedAtMs)));
      if (ends.length === TOLD_AT_ONCE) afterMs = 0;
      else this.isFirstLook = false;
    } catch (error) {
      // At the end, the store may be closed while it is asked.
      if (!this.isEnded) storeFailed(error);
    }
    if (!this.isEnded) this.cancelLook = timers.after(afterMs, () => void this.look());
  }
}
