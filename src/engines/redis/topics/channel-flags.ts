import type { App } from '../../../channels/app.ts';
import type { ChannelName } from '../../../channels/channel-name.ts';
import type { WebhookEvents } from '../../../channels/lifecycle/webhook-events.ts';
import { type LargeRule, presenceRuleOf } from '../../../channels/presence-rule.ts';

/** Returns what scripts must know of a channel. See `STATE`. */
export function channelFlags(
  app: App,
  channel: ChannelName,
  { webhooks, large }: { readonly webhooks: WebhookEvents; readonly large: string },
): string {
  let flags = '';
  if (hasWebhooks(app, channel)) flags += 'w';
  if (hasCounts(app, channel)) flags += webhooks.wants(app, 'subscription_count') ? 'cn' : 'c';
  if (channel.cached) flags += webhooks.wants(app, 'cache_miss') ? 'km' : 'k';
  if (channel.kind !== 'presence') return flags;
  const { memberChangesPerSecond } = app.limits;
  const graceSeconds = presenceRuleOf(app, channel.text)?.graceSeconds ?? 0;
  // The first number is the limit of changes.
  const isAlone = graceSeconds === 0 && large === '';
  if (memberChangesPerSecond > 0 || !isAlone) flags += memberChangesPerSecond;
  if (graceSeconds > 0) flags += `g${graceSeconds}`;
  return flags + large;
}

/** How scripts note that a channel is large: how many members are shown, and how many changes are named. */
export function largeText(rule: LargeRule | undefined): string {
  if (rule === undefined) return '';
  return rule.named > 0 ? `l${rule.shown}L${rule.named}` : `l${rule.shown}`;
}

export function readLarge(text: string): LargeRule | undefined {
  const [, shown, named = 0] = /^l(\d+)(?:L(\d+))?$/.exec(text) ?? [];
  return shown === undefined ? undefined : { shown: Number(shown), named: Number(named) };
}

/** Whether subscribers of a channel get subscription counts. */
export function hasCounts({ subscriptionCounts }: App, { kind }: ChannelName): boolean {
  return subscriptionCounts && kind !== 'presence' && kind !== 'server-to-user';
}

export function hasWebhooks({ webhooks }: App, { kind }: ChannelName): boolean {
  return webhooks.length > 0 && kind !== 'server-to-user';
}
