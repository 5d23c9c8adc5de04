/** All limits of the live stream. */

/** Time between two batches. Milliseconds. */
export const TICK_MS = 100;

/** Ticks between two reports of counts. */
export const COUNTS_TICKS = 10;

/** Records of one tick, of all apps and loops of a server. */
export const RECORDS_PER_TICK = 50;

/**
 * How the realtime loops together and the background loop share them. Only half of all may be events, so that a flood of them
 * hides nothing else.
 */
export const REALTIME_RECORDS: RecordShare = { records: 40, events: 25 };
export const BACKGROUND_RECORDS: RecordShare = { records: 10, events: 0 };

/** Records of one tick, of all instances of a server. All of them come from the background loop. */
export const PUSH_RECORDS: RecordShare = { records: RECORDS_PER_TICK, events: 0 };

export interface RecordShare {
  readonly records: number;
  /** How many of them may be events of backends and clients. */
  readonly events: number;
}

/** Characters of these records. */
export const CHARACTERS_PER_TICK = 128 * 1024;

/** Names that are counted in one second, of channels and of events each. */
export const NAMES_COUNTED_MAX = 1000;

/** Receivers of other loops' records that one loop reports in one tick. */
export const HEARD_PER_TICK = 1000;

/** Bytes of the data of a record. */
export const DATA_BYTES = 1024;

/** Streams of a server, and of one app or instance. */
export const STREAMS_MAX = 8;
export const STREAMS_PER_APP_MAX = 4;

/** After this time, a stream ends. A page that is still open asks for the next one. */
export const STREAM_MS = 30 * 60 * 1000;

/** Records that wait for a reader that is too slow; beyond it, the newest stay. */
export const WAITING_RECORDS_MAX = 200;

/** Characters of these records. */
export const WAITING_CHARACTERS_MAX = 256 * 1024;
