/** One of the slots that hold everything. */
export interface Slot {
  readonly number: number;
  /** Keys and streams with this text in braces lie in the slot. */
  readonly tag: string;
}

/**
 * The slots that hold everything, one in each 1,024, so that each of up to 16 masters has about as many. A slot is
 * CRC16 of its tag, modulo 16,384. The order must stay: partitions are distributed over them.
 */
export const SLOTS: readonly Slot[] = [
  { number: 511, tag: '18' },
  { number: 1518, tag: '249' },
  { number: 2579, tag: '72' },
  { number: 3586, tag: '223' },
  { number: 4574, tag: '19' },
  { number: 5649, tag: '2' },
  { number: 6628, tag: '64' },
  { number: 7715, tag: '222' },
  { number: 8704, tag: '265' },
  { number: 9745, tag: '34' },
  { number: 10791, tag: '404' },
  { number: 11779, tag: '155' },
  { number: 12833, tag: '264' },
  { number: 13798, tag: '22' },
  { number: 14875, tag: '219' },
  { number: 15882, tag: '48' },
];
