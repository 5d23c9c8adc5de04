import type { App, PresenceRule } from './app.ts';
import type { ChannelText } from './channel-name.ts';
import { fitsChannel } from './channel-pattern.ts';

/** How a large channel behaves. It stays so until it is vacated, whatever its rule becomes. */
export interface LargeRule {
  readonly shown: number;
  readonly named: number;
}

/** How a presence channel behaves that becomes occupied now; `undefined`: it is not large. */
export function largeRuleOf(
  app: Pick<App, 'presence'>,
  channel: ChannelText,
): LargeRule | undefined {
  const rule = presenceRuleOf(app, channel);
  if (rule === undefined || rule.shown === null) return undefined;
  return { shown: rule.shown, named: rule.named };
}

/** How many members a presence channel may have; 0: no limit. */
export function membersMaxOf(app: App, channel: ChannelText): number {
  return presenceRuleOf(app, channel)?.members ?? app.limits.presenceMembers;
}

/** Returns the first rule that matches a presence channel. */
export function presenceRuleOf(
  { presence }: Pick<App, 'presence'>,
  channel: ChannelText,
): PresenceRule | undefined {
  if (presence.length === 0) return undefined;
  return presence.find(({ channels }) => fitsChannel(channels, channel));
}
