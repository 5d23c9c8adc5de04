/** What the homes of one server may remember, beside the events of histories. */
export interface RememberedMax {
  /** Of each kind: cached events, idempotency keys, and histories without events and subscribers. About 1.4 KB for all three. */
  readonly items: number;
  /** Of the data of cached events. */
  readonly cachedCharacters: number;
}

/** With plenty of memory. */
export const REMEMBERED_MAX: RememberedMax = {
  items: 100_000,
  cachedCharacters: 128 * 1024 * 1024,
};
