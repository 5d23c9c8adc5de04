import type { FoundHistory, HistoryRequest, ResumePlace } from '../history/resume.ts';
import type { Hub } from '../hub.ts';
import type { Session } from './session.ts';

/** Returns what a connection asks of the history of a channel; `undefined` if the app has no rules for histories. */
export function historyRequest(
  hub: Hub,
  session: Session,
  place: ResumePlace | undefined,
): HistoryRequest | undefined {
  if (session.app.history.length === 0) return undefined;
  return { place, roomBytes: roomBytes(hub, session) };
}

/**
 * Returns the part of a history that a connection may be sent now. While the authority answered, more frames may have come
 * to wait for it; with too many, it would be closed as a slow reader, come back, and be closed again.
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
 * Sends a connection the frames that follow its confirmation. Returns whether it has all events up to now, so that it must not
 * get the last event of a cache channel.
 */
export function sendHistory(
  { meter, usage }: Hub,
  { app, peer }: Session,
  { outcome, frames }: FoundHistory,
): boolean {
  if (outcome !== undefined && outcome !== 'begun') meter.count('resumes', 1, outcome);
  if (frames.length > 0) {
    for (const frame of frames) peer.send(frame);
    usage.charge(app, frames.length, 'clients');
    meter.count('eventsReplayed', frames.length);
    meter.count('messagesDelivered', frames.length);
    meter.count('deliveredBytes', bytesOf(frames));
  }
  return outcome === 'resumed' || frames.length > 0;
}

function roomBytes({ historySendBytes }: Hub, { peer }: Session): number {
  return Math.max(0, historySendBytes - peer.waitingBytes());
}

function bytesOf(frames: readonly string[]): number {
  return frames.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0);
}
