import { messageOf } from '../../runtime/error-code.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import { RecentSet } from '../../runtime/recent.ts';
import { Poller } from '../../runtime/time/poller.ts';
import type { PublishUnderWay } from '../model/delivery.ts';
import { hasCompletionEvents, type PendingCompletionEvents } from '../pending-completion-events.ts';
import type { PublishStore } from '../publish-store.ts';
import type { StoryStore } from '../story-store.ts';
import { publishWebhookUrl } from '../webhooks/publish-webhook.ts';
import type { PushWebhookSink } from '../webhooks/sink.ts';
import type { PublishEvents } from './ports.ts';
import { readStoredPublish } from './stored-publish.ts';

export interface CompletionEventsOptions {
  readonly publishes: Pick<PublishStore, 'status'>;
  readonly stories: Pick<StoryStore, 'usersReached'>;
  readonly pending: PendingCompletionEvents;
  readonly sink: PushWebhookSink;
  /** Finds the id of an instance by its number; `undefined`: this server does not serve it. */
  readonly instanceId: (instance: number) => string | undefined;
  /** Whether no other server uses the store. If so, events left by a server that crashed are sent at once. */
  readonly isAlone: boolean;
  readonly timers: Timers;
  /** Called when the store cannot be polled. */
  readonly storeFailed: (error: unknown) => void;
  readonly log: Log;
}

/** How often pending events of other servers are polled, and how many are sent at once. */
const POLL_MS = 5_000;
const SENT_AT_ONCE = 20;

/** A claimed event that was not sent is sent again after this time. */
const CLAIM_MS = 60_000;

/** Most starts to remember. A forgotten start is sent again with the end. */
const STARTS_MAX = 10_000;

/** How long the stop waits for events that are being sent. */
const CLOSE_MS = 1_000;

/**
 * Reports the start and the end of publishes to webhooks. The end is delivered at least once, even across crashes: it is
 * pending in the store from the commit that finishes the publish until its webhook request is stored. The start always
 * precedes the end; if this server has not sent it, it is sent again with the end.
 */
export class CompletionEvents implements PublishEvents, AsyncDisposable {
  private readonly options: CompletionEventsOptions;
  /** Publishes whose start this server has sent, oldest first. */
  private readonly starts = new RecentSet<number>(STARTS_MAX);
  /** Publishes whose end is being sent. */
  private readonly sending = new Set<number>();
  /** Before its first poll, the only server takes what is due before this: also what a server has claimed that crashed. */
  private takenOverUntilMs: number;
  private isStopped = false;
  private readonly polling: Poller;
  private onIdle: (() => void) | undefined;

  constructor(options: CompletionEventsOptions) {
    this.options = options;
    this.takenOverUntilMs = options.isAlone ? options.timers.now() + CLAIM_MS - 1 : 0;
    this.polling = new Poller(options.timers, () => this.poll());
    this.polling.wakeLater(0);
  }

  started(publish: PublishUnderWay): void {
    if (publishWebhookUrl(publish.body) === undefined) return;
    const owner = this.options.instanceId(publish.instance);
    if (owner !== undefined) this.sendStart(owner, publish);
  }

  finished(publish: PublishUnderWay): void {
    if (hasCompletionEvents(publish.kind, publish.body)) void this.complete(publish);
  }

  /** Waits a moment for events that are being sent. The others stay pending for the next server. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isStopped = true;
    // What it awaits is being sent.
    void this.polling.stop();
    if (this.sending.size === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.options.timers.after(CLOSE_MS, resolve);
      this.onIdle = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Not awaited: requests are stored in order, so if the start is lost, the end is too, and both are sent again. */
  private sendStart(owner: string, { number, id, body, dueAtMs }: PublishUnderWay): void {
    void this.options.sink.publishStarted(owner, { id, body, atMs: dueAtMs });
    this.starts.add(number);
  }

  /**
   * Sends the end of a publish, and then removes it from the pending ones. Never rejects: a failure is retried later.
   */
  private async complete(publish: PublishUnderWay, finishedAtMs?: number): Promise<void> {
    const { pending, instanceId, log } = this.options;
    const { number } = publish;
    const owner = instanceId(publish.instance);
    // Left to the servers that serve the instance.
    if (owner === undefined || this.sending.has(number)) return;
    this.sending.add(number);
    try {
      const atMs = finishedAtMs ?? (await pending.finishedAtMs(number));
      if (atMs !== undefined) {
        await this.sendEnd(owner, publish, atMs);
        await pending.remove(number);
      }
      this.starts.delete(number);
    } catch (error) {
      log.error('Completion webhooks of a publish could not be stored yet', {
        publish: publish.id,
        why: messageOf(error),
      });
    } finally {
      this.sending.delete(number);
      if (this.sending.size === 0) this.onIdle?.();
    }
  }

  /** Settles when the webhook requests are in the store. */
  private async sendEnd(owner: string, publish: PublishUnderWay, atMs: number): Promise<void> {
    const { publishes, stories, sink } = this.options;
    const { id, instance, number, kind, body, dueAtMs } = publish;
    const stored: Promise<void>[] = [];
    if (publishWebhookUrl(body) !== undefined) {
      const status = await publishes.status({ instance, id, nowMs: dueAtMs });
      if (status !== undefined) {
        if (!this.starts.has(number)) this.sendStart(owner, publish);
        // After the start, even if the clock was set back.
        const endedAtMs = Math.max(atMs, dueAtMs + 1);
        const { platforms: counts, live } = status;
        const end = { id, body, atMs: endedAtMs, startedAtMs: dueAtMs, counts, live };
        stored.push(sink.publishFinished(owner, end));
      }
    }
    if (kind === 'users' && sink.wants(owner, 'v1.PublishToUsersAttempt')) {
      const { delivered, failed, live } = await stories.usersReached(number);
      const known = new Set([...delivered, ...failed]);
      const names = readStoredPublish(publish)?.target.names ?? [];
      const noDevices = names.filter((name) => !known.has(name));
      const users = { delivered, gatewayFailed: failed, noDevices, live };
      stored.push(sink.usersAttempted(owner, { id, atMs, ...users }));
    }
    await Promise.all(stored);
  }

  /** Sends pending events that other servers should have sent, or an earlier life of this one. */
  private async poll(): Promise<number> {
    const { pending, timers, storeFailed } = this.options;
    try {
      const nowMs = timers.now();
      const events = await pending.claim({
        // Before the end of its own claims, so that it does not claim the same again and again.
        nowMs: Math.max(nowMs, this.takenOverUntilMs),
        untilMs: nowMs + CLAIM_MS,
        limit: SENT_AT_ONCE,
      });
      await Promise.all(
        events.map(({ publish, finishedAtMs }) => this.complete(publish, finishedAtMs)),
      );
      if (events.length === SENT_AT_ONCE) return 0;
      this.takenOverUntilMs = 0;
    } catch (error) {
      // While stopping, the store may already be closed.
      if (!this.isStopped) storeFailed(error);
    }
    return POLL_MS;
  }
}
