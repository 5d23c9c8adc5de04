import type { App, AppLimits, PresenceRule } from '../../src/channels/app.ts';
import { type ChannelName, parseChannelName } from '../../src/channels/channel-name.ts';
import { appSettings } from '../../src/config/settings/channels-settings.ts';

/** An app with the limits given, and the defaults of the configuration otherwise. */
export function appWith(limits: Partial<AppLimits>, id = 'app'): App {
  return appSettings.parse({ id, keys: [{ key: `${id}-key`, secret: 'secret' }], limits });
}

/** An app whose channels keep histories by these rules. */
export function appWithHistory(
  history: readonly Readonly<Record<string, unknown>>[],
  { id = 'app', ...limits }: Partial<AppLimits> & { readonly id?: string } = {},
): App {
  const keys = [{ key: `${id}-key`, secret: 'secret' }];
  return appSettings.parse({ id, keys, limits, history });
}

/** Rules for presence channels, with the defaults of the configuration. */
export function presenceRules(...rules: readonly Partial<PresenceRule>[]): readonly PresenceRule[] {
  const keys = [{ key: 'key', secret: 'secret' }];
  return appSettings.parse({ id: 'app', keys, presence: rules }).presence;
}

/** The channel of a name that is known to be valid. */
export function channel(text: string): ChannelName {
  const parsed = parseChannelName(text);
  if (!parsed.ok) throw new Error(parsed.why);
  return parsed.channel;
}
