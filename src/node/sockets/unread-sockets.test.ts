import { describe, expect, it } from 'bun:test';
import type { UnreadSocket } from './kernel-sockets.ts';
import { UnreadSockets } from './unread-sockets.ts';

const BOUND = 1_000_000;
const EACH = 50_000;

/** A process with connections that are not read: the number of each owner. */
function stage(counts: Record<string, number>, alsoHeld = 0) {
  const open = new Map<number, UnreadSocket>();
  for (const [address, count] of Object.entries(counts)) {
    for (let n = 0; n < count; n++) {
      const descriptor = open.size;
      // The later ones hold a little more.
      open.set(descriptor, { descriptor, address, port: 1_000 + descriptor, bytes: EACH + n });
    }
  }
  const total = open.size;
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const lines: [string, object | undefined][] = [];
  const line = (message: string, fields?: object) => void lines.push([message, fields]);
  const ending: number[] = [];
  let searches = 0;
  const heldBytes = () => [...open.values()].reduce((sum, { bytes }) => sum + bytes, alsoHeld);
  const unread = new UnreadSockets({
    sockets: {
      unread: (descriptor, leastBytes) => {
        const socket = open.get(descriptor);
        return socket !== undefined && socket.bytes >= leastBytes ? socket : undefined;
      },
      abort: ({ descriptor }) => void open.delete(descriptor),
    },
    heldBytes,
    bytesMax: BOUND,
    descriptors: () => total,
    owners() {
      searches++;
      return ({ address }) => address;
    },
    onEnding: ({ descriptor }) => ending.push(descriptor),
    log: { debug: line, info: line, warn: line, error: line },
    clock,
  });
  return {
    ...{ unread, open, clock, lines, ending, heldBytes },
    searches: () => searches,
    left: (owner: string) => [...open.values()].filter(({ address }) => address === owner).length,
  };
}

describe('what the kernel holds for clients that do not read', () => {
  it('stays while it is within the bound, and no connection is looked at', () => {
    const { unread, open, searches } = stage({ loud: BOUND / EACH - 1 });
    unread.check();
    expect([open.size, searches()]).toEqual([BOUND / EACH - 1, 0]);
  });

  it('shrinks to three quarters of the bound at the expense of the owner with most', () => {
    const { unread, left, lines, ending, heldBytes } = stage({ loud: 100, other: 5 });
    unread.check();
    expect(left('other')).toBe(5);
    expect(heldBytes()).toBeLessThanOrEqual((BOUND * 3) / 4);
    expect(heldBytes()).toBeGreaterThan(BOUND / 2);
    expect(ending.length).toBe(100 - left('loud'));
    // Those with most are first.
    expect(ending[0]).toBe(99);
    expect(lines).toEqual([
      [
        'Connections closed: their clients do not read, and hold too much memory of the kernel',
        { closed: ending.length, heldMiB: 6, allowedMiB: 0, address: 'loud' },
      ],
    ]);
  });

  it('is searched again after a pause if none of it can be freed', () => {
    const { unread, clock, searches, lines } = stage({}, 2 * BOUND);
    unread.check();
    unread.check();
    expect(searches()).toBe(1);
    clock.nowMs += 100;
    unread.check();
    expect([searches(), lines]).toEqual([2, []]);
  });
});
