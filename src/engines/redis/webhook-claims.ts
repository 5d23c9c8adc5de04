import type { WebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import type { WebhookEvents } from '../../channels/lifecycle/webhook-events.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { userOfWatchChannel } from '../../channels/users/watch-topic.ts';
import { readUserId } from './topics/stream-message.ts';

export interface WebhookClaimsOptions {
  readonly apps: AppDirectory;
  readonly webhooks: WebhookEvents;
  /** Forgets events that are stored or dropped. */
  readonly settle: (ids: readonly string[]) => void;
}

/**
 * Reports the webhook events of one partition that this node has claimed. When they are stored or dropped they are
 * settled, all of one turn together. If this node dies before that, others claim them.
 */
export class WebhookClaims {
  private readonly options: WebhookClaimsOptions;
  /**
   * Events that are reported, but neither stored nor dropped. At most as many as the queues for webhook events hold.
   */
  private readonly pending = new Set<string>();
  private over: string[] = [];
  private idle: PromiseWithResolvers<void> | undefined;

  constructor(options: WebhookClaimsOptions) {
    this.options = options;
  }

  /** Resolves once all reported events are stored or dropped. */
  whenIdle(): Promise<void> {
    if (this.pending.size === 0) return Promise.resolve();
    this.idle ??= Promise.withResolvers();
    return this.idle.promise;
  }

  report(ids: readonly string[]): void {
    const { apps, webhooks } = this.options;
    for (const id of ids) {
      // Claimed again, because the store is slow.
      if (this.pending.has(id)) continue;
      this.pending.add(id);
      const [number = '', kind = '', topic = '', detail = ''] = id.split('\n');
      const slash = topic.indexOf('/');
      const app = apps.byId(topic.slice(0, slash));
      const about = topic.slice(slash + 1);
      const event = userEventOf(kind, about, number) ?? eventOf(kind, about, detail);
      const onSettled = () => this.settle(id);
      // The app was removed, so nobody wants its events.
      if (app === undefined || event === undefined) onSettled();
      else webhooks.emit(app, event, { id: idOf(id), onSettled });
    }
  }

  private settle(id: string): void {
    this.pending.delete(id);
    if (this.over.length === 0) {
      queueMicrotask(() => {
        this.options.settle(this.over);
        this.over = [];
        if (this.pending.size === 0) this.idle?.resolve();
      });
    }
    this.over.push(id);
  }
}

/** The id of an event, which is the same on every node that claims it. */
function idOf(id: string): string {
  const [number = '', kind = '', topic = ''] = id.split('\n');
  return `${topic}:${kind}:${number.slice(1)}`;
}

/** The number of a departure is followed by the time when the user was last seen. */
function userEventOf(kind: string, about: string, number: string): WebhookEvent | undefined {
  const user = userOfWatchChannel(about);
  if (user === undefined) return undefined;
  if (kind === 'u') return { name: 'user_online', user_id: user };
  if (kind !== 'd') return undefined;
  const lastSeenMs = Number(number.slice(number.indexOf(',') + 1));
  return { name: 'user_offline', user_id: user, last_seen_ms: lastSeenMs };
}

function eventOf(kind: string, channel: string, detail: string): WebhookEvent | undefined {
  switch (kind) {
    case 'o':
      return { name: 'channel_occupied', channel };
    case 'v':
      return { name: 'channel_vacated', channel };
    case 'm':
      return { name: 'cache_miss', channel };
    case 'a':
      return { name: 'member_added', channel, user_id: readUserId(detail) };
    case 'r':
      return { name: 'member_removed', channel, user_id: readUserId(detail) };
    case 'n':
      return { name: 'subscription_count', channel, subscription_count: Number(detail) };
    default:
      return undefined;
  }
}
