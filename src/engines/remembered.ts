/** The limits of what the homes of one server remember, besides the events of histories. */
export interface RememberedMax {
  /** The limit of each kind: cached events, idempotency keys, and empty histories without subscribers. One of each takes about 1.4 KB. */
  readonly items: number;
  /** The limit of characters of the data of cached events. */
  readonly cachedCharacters: number;
}

/** The limits of a server with plenty of memory. */
export const REMEMBERED_MAX: RememberedMax = {
  items: 100_000,
  cachedCharacters: 128 * 1024 * 1024,
};
