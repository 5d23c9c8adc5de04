/** All limits of the live stream. */

/** The interval of batches. Milliseconds. */
export const TICK_MS = 100;

/** How many ticks lie between two reports of counts. */
export const COUNTS_TICKS = 10;

/** The limit of records per tick, for all apps and loops of a server. */
export const RECORDS_PER_TICK = 50;

/**
 * How the realtime loops and the background loop share it. Only half may be events, so that a flood of events hides
 * nothing else.
 */
export const REALTIME_RECORDS: RecordShare = { records: 40, events: 25 };
export const BACKGROUND_RECORDS: RecordShare = { records: 10, events: 0 };

/** The limit of records per tick, for all instances of a server. All of them come from the background loop. */
export const PUSH_RECORDS: RecordShare = { records: RECORDS_PER_TICK, events: 0 };

export interface RecordShare {
  readonly records: number;
  /** How many of them may be events of backends and clients. */
  readonly events: number;
}

/** The limit of these records in characters. */
export const CHARACTERS_PER_TICK = 128 * 1024;

/** The limits of names that are counted per second: of channels, and of events. */
export const NAMES_COUNTED_MAX = 1000;

/** How many receiver counts for other loops' records one loop reports per tick. */
export const RECEIVED_PER_TICK = 1000;

/** The limit of bytes kept of a record's data. */
export const DATA_BYTES = 1024;

/** The limits of streams: of a server, and of one app or instance. One of each is kept for admins. */
export const STREAMS_MAX = 8;
export const STREAMS_PER_APP_MAX = 4;

/** The longest lifetime of a stream. A page that is still open reconnects. */
export const STREAM_MS = 30 * 60 * 1000;

/** The longest lifetime of a stream for a user of a proxy: only with a new request does the proxy say again which groups a user has. */
export const STREAM_OF_PROXY_MS = 5 * 60 * 1000;

/** The limit of queued records for a slow reader. Beyond it, the oldest are dropped. */
export const WAITING_RECORDS_MAX = 200;

/** The limit of these records in characters. */
export const WAITING_CHARACTERS_MAX = 256 * 1024;
