/** The name of every event that is triggered here. */
export const EVENT_NAME = 'bench';

const MARK = 'seq';
const SEQUENCE_DIGITS = 8;

/** Builds the data of one event: JSON as real events have it, its number at a fixed place. */
export function eventData(sequence: number, bytes: number): string {
  const bare = `{"${MARK}":"${String(sequence).padStart(SEQUENCE_DIGITS, '0')}","pad":""}`;
  const pad = 'x'.repeat(Math.max(0, bytes - bare.length));
  return bare.replace('"pad":""', `"pad":"${pad}"`);
}

/** Reads event numbers off the wire without parsing, once it was shown where they stand. */
export class SequenceReader {
  #payloadLength = -1;
  #offset = 0;

  /** The number of the event in this payload, or -1 where it is not laid out like the one learnt. */
  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== this.#payloadLength) return -1;
    let sequence = 0;
    const first = start + this.#offset;
    for (let at = first; at < first + SEQUENCE_DIGITS; at += 1) {
      const digit = (bytes[at] ?? 0) - 48;
      if (digit < 0 || digit > 9) return -1;
      sequence = sequence * 10 + digit;
    }
    return sequence;
  }

  /** Learns where the number stands from one event's payload, however this server lays it out. */
  learn(payload: string): void {
    const digits = new RegExp(`${MARK}[^0-9]+([0-9]{${SEQUENCE_DIGITS}})`, 'd').exec(payload);
    const at = digits?.indices?.[1]?.[0];
    if (at === undefined) throw new Error(`an event without its number: ${payload}`);
    this.#offset = at;
    this.#payloadLength = payload.length;
  }
}
