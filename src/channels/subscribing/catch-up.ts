import type { ChannelName } from '../channel-name.ts';
import type { EventId } from '../history/event-id.ts';
import type { FoundHistory, HistoryRequest, ResumePlace } from '../history/resume.ts';
import type { Hub } from '../hub.ts';
import type { Session } from './session.ts';

/**
 * Returns what a connection wants from the history of a channel; `undefined` if the app has no history rules. A
 * connection that resumes after the same event twice has what it missed already, so there is no room for it again.
 */
export function historyRequest(
  hub: Hub,
  session: Session,
  channel: ChannelName,
  place: ResumePlace | undefined,
): HistoryRequest | undefined {
  if (session.app.history.length === 0) return undefined;
  const after = eventOf(place);
  const isRepeated = after !== undefined && session.hasResumed(channel.text, after);
  return { place, roomBytes: isRepeated ? 0 : roomBytes(hub, session) };
}

/**
 * Returns the part of a history that may be sent to a connection now. While the authority answered, more frames may
 * have queued up for it. With too many, it would be closed as a slow consumer, reconnect, and be closed again.
 */
export function fittingHistory(hub: Hub, session: Session, found: FoundHistory): FoundHistory {
  if (found.frames.length === 0 || bytesOf(found.frames) <= roomBytes(hub, session)) return found;
  return {
    ...found,
    outcome: found.outcome === 'resumed' ? 'too-much' : found.outcome,
    frames: [],
  };
}

/**
 * Sends a connection the frames that follow its confirmation. Returns whether it then has all events, so that it must
 * not get the cached event.
 */
export function sendHistory(
  { meter, usage }: Hub,
  { app, peer }: Session,
  { outcome, frames }: FoundHistory,
): boolean {
  if (outcome !== undefined && outcome !== 'begun') meter.count('resumes', 1, outcome);
  if (frames.length > 0) {
    peer.sendAll(frames);
    usage.charge(app, frames.length, 'clients');
    meter.count('eventsReplayed', frames.length);
    meter.count('messagesDelivered', frames.length);
    meter.count('deliveredBytes', bytesOf(frames));
  }
  return outcome === 'resumed' || frames.length > 0;
}

/** Charges a connection for the events that the authority has read for it, even if they are not sent. */
export function chargeHistory(
  session: Session,
  channel: ChannelName,
  { place, roomBytes }: HistoryRequest,
  { outcome, frames }: FoundHistory,
): void {
  const isTooMuch = outcome === 'too-much';
  if (!isTooMuch && frames.length === 0) return;
  session.chargeAnswer(isTooMuch ? roomBytes : bytesOf(frames), frames.length);
  const after = eventOf(place);
  if (after !== undefined) session.noteResume(channel.text, after);
}

function eventOf(place: ResumePlace | undefined): EventId | undefined {
  return place === undefined || place.after === 'none' || place.after === 'unknown'
    ? undefined
    : place.after;
}

function roomBytes({ historySendBytes }: Hub, { peer }: Session): number {
  return Math.max(0, historySendBytes - peer.waitingBytes());
}

function bytesOf(frames: readonly string[]): number {
  return frames.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0);
}
