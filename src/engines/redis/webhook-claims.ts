import type { WebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import type { WebhookEvents } from '../../channels/lifecycle/webhook-events.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { readUserId } from './stream-message.ts';

export interface WebhookClaimsOptions {
  readonly apps: AppDirectory;
  readonly webhooks: WebhookEvents;
  /** Forgets events that were reported. */
  readonly settle: (ids: readonly string[]) => void;
}

/** Reports the webhook events that this node has claimed of one partition, and settles all of one turn together. */
export class WebhookClaims {
  private readonly options: WebhookClaimsOptions;
  private reported: string[] = [];

  constructor(options: WebhookClaimsOptions) {
    this.options = options;
  }

  report(ids: readonly string[]): void {
    const { apps, webhooks, settle } = this.options;
    for (const id of ids) {
      const [, kind = '', topic = '', detail = ''] = id.split('\n');
      const slash = topic.indexOf('/');
      const app = apps.byId(topic.slice(0, slash));
      const event = eventOf(kind, topic.slice(slash + 1), detail);
      // Nobody wants the events of an app that was removed.
      if (app !== undefined && event !== undefined) webhooks.emit(app, event, idOf(id));
    }
    if (this.reported.length === 0) {
      queueMicrotask(() => {
        const { reported } = this;
        this.reported = [];
        settle(reported);
      });
    }
    this.reported.push(...ids);
  }
}

/** The same on every node that claims the event. */
function idOf(id: string): string {
  const [number = '', kind = '', topic = ''] = id.split('\n');
  return `${topic}:${kind}:${number.slice(1)}`;
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
