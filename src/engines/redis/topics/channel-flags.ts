import type { App } from '../../../channels/app.ts';
import type { ChannelName } from '../../../channels/channel-name.ts';
import type { WebhookEvents } from '../../../channels/lifecycle/webhook-events.ts';
import { presenceRuleOf } from '../../../channels/presence-rule.ts';

/** Returns what scripts must know of a channel. See `STATE`. */
export function channelFlags(app: App, channel: ChannelName, webhooks: WebhookEvents): string {
  let flags = '';
  if (hasWebhooks(app, channel)) flags += 'w';
  if (hasCounts(app, channel)) flags += webhooks.wants(app, 'subscription_count') ? 'cn' : 'c';
  if (channel.cached) flags += webhooks.wants(app, 'cache_miss') ? 'km' : 'k';
  if (channel.kind !== 'presence') return flags;
  const { memberChangesPerSecond } = app.limits;
  const graceSeconds = presenceRuleOf(app, channel.text)?.graceSeconds ?? 0;
  // The first number is the limit of changes.
  if (memberChangesPerSecond > 0 || graceSeconds > 0) flags += memberChangesPerSecond;
  return graceSeconds > 0 ? `${flags}g${graceSeconds}` : flags;
}

/** Whether subscribers of a channel get subscription counts. */
export function hasCounts({ subscriptionCounts }: App, { kind }: ChannelName): boolean {
  return subscriptionCounts && kind !== 'presence' && kind !== 'server-to-user';
}

export function hasWebhooks({ webhooks }: App, { kind }: ChannelName): boolean {
  return webhooks.length > 0 && kind !== 'server-to-user';
}
