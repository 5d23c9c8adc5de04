import type { FoundHistory, ResumePlace } from '../../channels/history/resume.ts';
import type { SocketId } from '../../channels/socket-id.ts';
import type { ChannelHistory } from './channel-history.ts';

interface Reader {
  /** The limit of frames to send. Bytes. */
  readonly roomBytes: number;
  /** The client's present connection. */
  readonly socketId: SocketId;
}

/** Returns the events that a client has missed, or why they cannot be sent. */
export function findPlace(
  history: ChannelHistory,
  { after, socketIds }: ResumePlace,
  { roomBytes, socketId }: Reader,
): FoundHistory {
  const id = history.newest;
  const first = after === 'none' || after === 'unknown' ? undefined : history.countUpTo(after);
  if (first === undefined) return { id, outcome: 'forgotten', frames: [] };
  const own = new Set<string>(socketIds).add(socketId);
  const frames: string[] = [];
  let bytes = 0;
  for (let index = first; index < history.size; index++) {
    const event = history.at(index);
    if (event === undefined || (event.except !== undefined && own.has(event.except))) continue;
    bytes += Buffer.byteLength(event.frame);
    if (bytes > roomBytes) return { id, outcome: 'too-much', frames: [] };
    frames.push(event.frame);
  }
  return { id, outcome: 'resumed', frames };
}

/** Returns the last events, oldest first: at most `most`, and at most `roomBytes`. */
export function lastFrames(
  history: ChannelHistory,
  most: number,
  roomBytes: number,
): readonly string[] {
  const frames: string[] = [];
  let bytes = 0;
  for (let index = history.size - 1; index >= 0 && frames.length < most; index--) {
    const frame = history.at(index)?.frame ?? '';
    bytes += Buffer.byteLength(frame);
    if (bytes > roomBytes) break;
    frames.push(frame);
  }
  return frames.reverse();
}
