import type { App, HistoryRule } from '../app.ts';
import type { ChannelText } from '../channel-name.ts';
import { fitsChannel } from '../channel-pattern.ts';

/** Returns the first rule that matches a channel; `undefined`: the channel keeps no history. */
export function historyRuleOf(app: App, channel: ChannelText): HistoryRule | undefined {
  const { history } = app;
  if (history.length === 0 || !app.enabled) return undefined;
  return history.find(({ channels }) => fitsChannel(channels, channel));
}
