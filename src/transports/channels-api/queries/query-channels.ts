import {
  type ChannelName,
  describeBadChannelName,
  parseChannelName,
} from '../../../channels/channel-name.ts';
import { ask } from '../../../channels/engine-failure.ts';
import { after, type MaybePromise } from '../../../channels/maybe-promise.ts';
import type { CachedEvent, ChannelCounts } from '../../../channels/ports.ts';
import type { Answer, Call } from '../call.ts';
import { ApiRefusal, invalid } from '../problems.ts';
import { valuesOf } from '../query.ts';
import {
  type Attribute,
  applicableCounts,
  infoIn,
  readAttributes,
  refuseSwitchedOff,
} from './attributes.ts';

/** `GET /channels`: the occupied channels. */
export function listChannels({ app, listings, parameters }: Call): MaybePromise<Answer> {
  const [prefix = '', ...others] = valuesOf(parameters, 'filter_by_prefix');
  if (others.length > 0) {
    return invalid(`filter_by_prefix: at most one, got ${others.length + 1}`);
  }
  const attributes = readAttributes(infoIn(parameters), ['user_count']);
  if (attributes instanceof ApiRefusal) return attributes;
  if (attributes.length > 0 && !prefix.startsWith('presence-')) {
    return invalid(
      'info: user_count is available for presence channels only; add filter_by_prefix=presence- to the request',
    );
  }
  const textOf = ({ users }: ChannelCounts) =>
    attributes.length > 0 ? `{"user_count":${users}}` : '{}';
  return listings.answer(app, { prefix, textOf });
}

/** `GET /channels/NAME`: whether a channel is occupied, and the requested attributes. */
export function describeChannel({ hub, app, parameters, channelText }: Call): MaybePromise<Answer> {
  const channel = readChannel(channelText);
  if (channel instanceof ApiRefusal) return channel;
  const attributes = readAttributes(infoIn(parameters), [
    'user_count',
    'subscription_count',
    'cache',
  ]);
  if (attributes instanceof ApiRefusal) return attributes;
  const refused = refuseSwitchedOff(app, attributes) ?? refuseNotApplicable(channel, attributes);
  if (refused !== undefined) return refused;

  const cached = attributes.includes('cache')
    ? ask('cached', () => hub.authority.cached(app, channel))
    : undefined;
  return after(cached, (event) =>
    after(
      ask('counts', () => hub.authority.counts(app, channel)),
      (counts) => ({
        json: JSON.stringify({
          occupied: counts.subscriptions > 0,
          ...applicableCounts(channel, attributes, counts),
          ...(attributes.includes('cache') ? { cache: describeCached(event) } : {}),
        }),
      }),
    ),
  );
}

/** `GET /channels/NAME/stats`, deprecated. */
export function channelStats({ hub, app, channelText }: Call): MaybePromise<Answer> {
  const channel = readChannel(channelText);
  if (channel instanceof ApiRefusal) return channel;
  return after(
    ask('counts', () => hub.authority.counts(app, channel)),
    ({ subscriptions, users }) => ({
      json: JSON.stringify({
        occupied: subscriptions > 0,
        user_count: users,
        connection_count: subscriptions,
      }),
    }),
  );
}

/** Reads the name of a channel in a path. */
export function readChannel(text: string): ChannelName | ApiRefusal {
  const parsed = parseChannelName(text);
  return parsed.ok
    ? parsed.channel
    : invalid(describeBadChannelName(text.slice(0, 300), parsed.why));
}

/** Source: the table of precedences at the head of the Channels protocol. */
function refuseNotApplicable(
  channel: ChannelName,
  attributes: readonly Attribute[],
): ApiRefusal | undefined {
  if (attributes.includes('user_count') && channel.kind !== 'presence') {
    return invalid(
      `info: user_count is available for presence channels only, and ${channel.text} is none`,
    );
  }
  if (attributes.includes('subscription_count') && channel.kind === 'presence') {
    return invalid('info: subscription_count is not available for presence channels');
  }
  if (attributes.includes('cache') && !channel.cached) {
    return invalid(`info: cache is available for cache channels only, and ${channel.text} is none`);
  }
  return undefined;
}

function describeCached(event: CachedEvent | undefined): { data: string; ttl: number } | null {
  if (event === undefined) return null;
  return { data: event.data, ttl: Math.ceil(event.leftMs / 1000) };
}
