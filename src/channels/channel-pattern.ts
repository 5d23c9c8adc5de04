import type { ChannelText } from './channel-name.ts';

/** Whether a channel fits the name of a channel, or the beginning of names and `*`. */
export function fitsChannel(pattern: string, channel: ChannelText): boolean {
  return pattern.endsWith('*') ? channel.startsWith(pattern.slice(0, -1)) : channel === pattern;
}
