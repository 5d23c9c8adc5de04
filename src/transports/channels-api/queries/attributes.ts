import type { App } from '../../../channels/app.ts';
import type { ChannelName } from '../../../channels/channel-name.ts';
import type { ChannelCounts } from '../../../channels/ports.ts';
import { type ApiRefusal, invalid } from '../problems.ts';
import { type Parameter, valuesOf } from '../query.ts';

/** An attribute of a channel that `info` can ask for. */
export type Attribute = 'user_count' | 'subscription_count' | 'cache';

/** Returns the `info` of a query: a list with commas, an array, or both. */
export function infoIn(parameters: readonly Parameter[]): string | undefined {
  const values = valuesOf(parameters, 'info');
  return values.length === 0 ? undefined : values.join(',');
}

/** Reads `info`; no attributes if it is absent or empty. `field` is its name in errors. */
export function readAttributes<A extends Attribute>(
  text: string | undefined,
  available: readonly A[],
  field = 'info',
): readonly A[] | ApiRefusal {
  if (text === undefined || text.trim() === '') return [];
  const attributes = new Set<A>();
  for (const part of text.split(',')) {
    const word = part.trim();
    const attribute = available.find((name) => name === word);
    if (attribute === undefined) {
      return invalid(
        `${field}: ${JSON.stringify(word.slice(0, 100))} is not available here; info should be a comma separated list of attributes out of: ${available.join(', ')}`,
      );
    }
    attributes.add(attribute);
  }
  return [...attributes];
}

/** Refuses attributes that a setting of the app has turned off. Source: the HTTP API's "Channel attributes". */
export function refuseSwitchedOff(
  app: App,
  attributes: readonly Attribute[],
  field = 'info',
): ApiRefusal | undefined {
  return attributes.includes('subscription_count') && !app.subscriptionCounts
    ? invalid(
        `${field}: subscription_count is not available, because the setting subscriptionCounts ("Enable subscription count") of this app is off`,
      )
    : undefined;
}

/** Picks the requested counts, without those that do not apply to this kind of channel. */
export function applicableCounts(
  channel: ChannelName,
  attributes: readonly Attribute[],
  counts: ChannelCounts,
): { user_count?: number; subscription_count?: number } {
  const presence = channel.kind === 'presence';
  return {
    ...(presence && attributes.includes('user_count') ? { user_count: counts.users } : {}),
    ...(!presence && attributes.includes('subscription_count')
      ? { subscription_count: counts.subscriptions }
      : {}),
  };
}
