import type { ChannelText } from './channel-name.ts';

/** Whether a pattern, which is a name or a prefix and `*`, matches a channel. */
export function fitsChannel(pattern: string, channel: ChannelText): boolean {
  return pattern.endsWith('*') ? channel.startsWith(pattern.slice(0, -1)) : channel === pattern;
}
