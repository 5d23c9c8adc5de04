import type { AppDirectory } from '../../../channels/ports.ts';
import { userOfWatchChannel } from '../../../channels/users/watch-topic.ts';
import type { Tap, TapKind } from '../../../channels/watching/tap.ts';
import { readUserId } from './stream-message.ts';

/** How scripts encode transitions; the user id follows. */
const KINDS: Readonly<Record<string, TapKind>> = {
  o: 'occupied',
  v: 'vacated',
  '+': 'member-added',
  '-': 'member-removed',
};

/** Shows a transition of a channel in the live streams of its app. */
export function recordTransition(tap: Tap, channel: string, transition: string): void {
  const kind = KINDS[transition.charAt(0)];
  const user = transition.length > 1 ? readUserId(transition.slice(1)) : undefined;
  if (kind !== undefined) tap.record({ kind, channel, user });
}

/**
 * Shows transitions that no statement has made: members whose stay is over, what servers held that died, and users who have gone
 * offline. One node gets each.
 * `ends`: topic and transition, with a line break between.
 */
export function recordEnds(apps: AppDirectory, ends: readonly string[]): void {
  for (const end of ends) {
    const slash = end.indexOf('/');
    const line = end.indexOf('\n');
    const tap = apps.byId(end.slice(0, slash))?.tap;
    const channel = end.slice(slash + 1, line);
    const user = userOfWatchChannel(channel);
    if (user !== undefined) tap?.record({ kind: 'user-offline', user });
    // Channels of users are shown nowhere.
    if (tap === undefined || channel.startsWith('#')) continue;
    recordTransition(tap, channel, end.slice(line + 1));
  }
}
