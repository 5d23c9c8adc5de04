import { readServerMessage, recordOf } from '../../../src/doctor/client/client-messages.ts';
import type { Random } from '../../../testing/random.ts';

/** Changes the frames to a socket. Returns what is sent instead of one. */
export type FrameChange = (socket: object, frame: string) => readonly string[];

/** How many of the frames that a fault can change it does change. */
const SOME = 1 / 100;
const MANY = 1 / 4;

function eventOf(frame: string): string {
  return readServerMessage(frame)?.event ?? '';
}

const isEvent = (frame: string) => !eventOf(frame).startsWith('pusher');

/** Faults of what servers send, by name. */
export const frameChanges: Readonly<Record<string, (random: Random) => FrameChange>> = {
  'lose-event': (random) => (_socket, frame) =>
    isEvent(frame) && random.chance(SOME) ? [] : [frame],

  'double-event': (random) => (_socket, frame) =>
    isEvent(frame) && random.chance(SOME) ? [frame, frame] : [frame],

  /** An event waits for the next one of its socket. */
  'swap-events': (random) => {
    const waiting = new Map<object, string>();
    return (socket, frame) => {
      const held = waiting.get(socket);
      if (held !== undefined && isEvent(frame)) {
        waiting.delete(socket);
        return [frame, held];
      }
      if (held === undefined && isEvent(frame) && random.chance(SOME)) {
        waiting.set(socket, frame);
        return [];
      }
      return [frame];
    };
  },

  'ghost-member': (random) => (_socket, frame) =>
    eventOf(frame) === 'pusher_internal:member_removed' && random.chance(MANY) ? [] : [frame],

  /** A client that resumes is told one missed event less, and does not get it. */
  'silent-gap': () => {
    const leaving = new Map<object, string>();
    return (socket, frame) => {
      const message = readServerMessage(frame);
      const channel = message?.channel ?? '';
      if (message?.event === 'pusher_internal:subscription_succeeded') {
        const data = recordOf(message.data);
        const resumed = recordOf(data?.['resume']);
        const missed = Number(resumed?.['missed'] ?? 0);
        if (missed === 0) return [frame];
        leaving.set(socket, channel);
        const changed = { ...data, resume: { ...resumed, missed: missed - 1 } };
        return [JSON.stringify({ ...JSON.parse(frame), data: JSON.stringify(changed) })];
      }
      if (leaving.get(socket) !== channel || !isEvent(frame)) return [frame];
      leaving.delete(socket);
      return [];
    };
  },
};
