import type { App, PresenceRule } from './app.ts';
import type { ChannelText } from './channel-name.ts';
import { fitsChannel } from './channel-pattern.ts';

/** Returns the first rule that matches a presence channel. */
export function presenceRuleOf(
  { presence }: Pick<App, 'presence'>,
  channel: ChannelText,
): PresenceRule | undefined {
  if (presence.length === 0) return undefined;
  return presence.find(({ channels }) => fitsChannel(channels, channel));
}
