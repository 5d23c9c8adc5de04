import type { App } from '../../channels/app.ts';
import { describeBadChannelName, parseChannelName } from '../../channels/channel-name.ts';
import { EVENT_NAME_LENGTH_MAX, isReservedEventName } from '../../channels/event.ts';
import type { LiveRules } from '../../push/requests/live.ts';
import { charactersOf, hasMoreCharacters } from '../../runtime/characters.ts';

/** The rules of an app for events that publishes send in it: those of a trigger. */
export function liveRulesOf({ limits }: App): LiveRules {
  return { eventDataBytes: limits.eventDataBytes, refuseEvent, refuseChannel };
}

function refuseEvent(name: string): string | undefined {
  if (name === '') return 'must not be empty';
  if (hasMoreCharacters(name, EVENT_NAME_LENGTH_MAX)) {
    return `has ${charactersOf(name)} characters: at most ${EVENT_NAME_LENGTH_MAX} are allowed`;
  }
  return isReservedEventName(name)
    ? 'names that begin with pusher: or pusher_internal: are reserved'
    : undefined;
}

function refuseChannel(text: string): string | undefined {
  const parsed = parseChannelName(text);
  if (!parsed.ok) return describeBadChannelName(text, parsed.why);
  return parsed.channel.kind === 'encrypted'
    ? 'must not be encrypted: the server has no key for its events'
    : undefined;
}
