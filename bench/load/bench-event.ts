/** The name of every event that is triggered here. */
export const EVENT_NAME = 'bench';
/** The name of every client event. */
export const CLIENT_EVENT_NAME = 'client-bench';

const MARK = 'seq';
const SEQUENCE_DIGITS = 8;

/** The prefix of the number in each kind of counted event. */
const marks: Readonly<Record<string, string>> = {
  [EVENT_NAME]: MARK,
  [CLIENT_EVENT_NAME]: MARK,
  'pusher_internal:member_added': 'user_id',
  'pusher_internal:member_removed': 'user_id',
};

/** Writes a number with a fixed width. */
export function sequenceText(sequence: number): string {
  return String(sequence).padStart(SEQUENCE_DIGITS, '0');
}

/** Builds the data of one event: JSON as real events have it, its number at a fixed place. */
export function eventData(sequence: number, bytes: number): string {
  const bare = `{"${MARK}":"${sequenceText(sequence)}","pad":""}`;
  const pad = 'x'.repeat(Math.max(0, bytes - bare.length));
  return bare.replace('"pad":""', `"pad":"${pad}"`);
}

/** The position of an event's number in its payload, and the offset to add to it. */
interface Layout {
  readonly digitsAt: number;
  readonly shift: number;
}

/** Reads event numbers from received bytes without parsing, after it has learned their position. */
export class SequenceReader {
  readonly #leavesAfter: number;
  readonly #layouts = new Map<number, Layout>();

  /** Takes by how much the number of the event that a member has left is higher than the member's own. */
  constructor(leavesAfter = 0) {
    this.#leavesAfter = leavesAfter;
  }

  /** The number of the event in this payload, or -1 if no known layout fits. */
  read(bytes: Uint8Array, start: number, end: number): number {
    const layout = this.#layouts.get(end - start);
    if (layout === undefined) return -1;
    let sequence = 0;
    const first = start + layout.digitsAt;
    for (let at = first; at < first + SEQUENCE_DIGITS; at += 1) {
      const digit = (bytes[at] ?? 0) - 48;
      if (digit < 0 || digit > 9) return -1;
      sequence = sequence * 10 + digit;
    }
    return sequence + layout.shift;
  }

  /**
   * Learns the position of the number from one payload, however the server formats it: all payloads of the same
   * length have the same layout. Ignores events without a number, which are not ours.
   */
  learn(name: string, payload: string): void {
    const mark = marks[name];
    if (mark === undefined) return;
    const digits = new RegExp(`${mark}[^0-9]+([0-9]{${SEQUENCE_DIGITS}})(?![0-9])`, 'd');
    const digitsAt = digits.exec(payload)?.indices?.[1]?.[0];
    if (digitsAt === undefined) return;
    const shift = name === 'pusher_internal:member_removed' ? this.#leavesAfter : 0;
    this.#layouts.set(payload.length, { digitsAt, shift });
  }
}
