import type { App } from '../../../../src/channels/app.ts';
import { appSettings } from '../../../../src/config/settings/channels-settings.ts';
import type { Credentials } from '../../../../src/doctor/client/signed-request.ts';
import type { Header } from '../../../../src/verify/history/line.ts';
import type { Random } from '../../../../testing/random.ts';
import type { Part } from '../../clients/crowd-member.ts';

export const credentials: Credentials = { appId: '1', key: 'key', secret: 'secret' };

/** The channels of a world. */
export const channels = {
  open: 'open',
  cached: 'cache-news',
  replayed: 'replay-feed',
  whispers: 'private-room',
  presence: 'presence-room',
  kept: 'kept-feed',
  keptPrivate: 'private-kept-feed',
  keptPresence: 'presence-kept-room',
} as const;

export const allChannels: readonly string[] = Object.values(channels);
/** Channels in which newcomers get earlier events. */
export const goesToNewcomers: readonly string[] = [channels.cached, channels.replayed];
export const presenceChannels: readonly string[] = [channels.presence, channels.keptPresence];

/** Events that a newcomer gets. */
const REPLAYED = 3;

/** The app of a world. */
export function appOf(keptEvents: number): App {
  return appSettings.parse(settingsOfApp(keptEvents));
}

/** The same, as in a configuration file. */
export function settingsOfApp(keptEvents: number): object {
  const kept = (beginning: string, replay = 0) => ({
    channels: `${beginning}*`,
    events: keptEvents,
    replay,
  });
  return {
    id: credentials.appId,
    keys: [{ key: credentials.key, secret: credentials.secret }],
    clientEvents: true,
    subscriptionCounts: true,
    history: [
      kept('kept-'),
      kept('private-kept-'),
      kept('presence-kept-'),
      kept('replay-', REPLAYED),
    ],
    webhooks: [
      {
        url: 'http://simulated',
        events: ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'],
      },
    ],
  };
}

export function headerOf(webhooks: boolean): Header {
  return {
    history: 1,
    by: 'npm run simulate',
    app: credentials.appId,
    T: 5_000,
    rules: {
      kept: ['kept-*', 'private-kept-*', 'presence-kept-*', 'replay-*'],
      replay: ['replay-*'],
    },
    webhooks,
  };
}

/** What one of the clients does. Two of them may be the same user. */
export function drawPart(random: Random, number: number): Part {
  const own = random.some(allChannels, 0.5);
  return {
    number,
    channels: own.length === 0 ? [channels.open] : own,
    resumes: random.chance(0.6),
    user: `user-${random.chance(0.2) ? Math.ceil(number / 2) : number}`,
    whispers: own.includes(channels.whispers) && random.chance(0.7) ? channels.whispers : undefined,
  };
}
