import type { CapUse, PageCap } from './model/cap.ts';

/** Reads what devices were shown of the cap of their instance, and counts nothing. */
export interface CapUses {
  /** Those of the devices that have no room for one more notification. */
  full(cap: PageCap): Promise<ReadonlySet<number>>;
  /** `undefined`: the device was shown nothing in the time of its cap. */
  useOf(device: number, cap: Omit<PageCap, 'devices'>): Promise<CapUse | undefined>;
}
