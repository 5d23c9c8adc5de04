import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import type { ClaimedPlan, Job } from '../../../../src/push/model/delivery.ts';
import { type DeliveryScene, type DeliveryStores, LEASE_MS } from './delivery-scene.ts';

/** Stores to test. */
export interface OpenDeliveryStores extends DeliveryStores, AsyncDisposable {
  newInstance(): Promise<number>;
  /** Deletes an instance as an operator does, and leaves its rows to the garbage collector. */
  deleteInstance(instance: number): Promise<void>;
}

/** What each test of a contract begins with. */
export interface DeliverySetup {
  readonly opened: OpenDeliveryStores;
  readonly store: DeliveryStore;
  /** The store as another server sees it. */
  readonly other: DeliveryStore;
  readonly scene: DeliveryScene;
  /** A scene with another instance. */
  readonly newScene: () => Promise<DeliveryScene>;
}

export function claimPlans(
  store: DeliveryStore,
  nowMs: number,
  limit: number,
): Promise<readonly ClaimedPlan[]> {
  return store.claimPlans({ nowMs, untilMs: nowMs + LEASE_MS, limit, except: [] });
}

export function ids(claims: readonly ClaimedPlan[]) {
  return claims.map(({ publish }) => publish.id);
}

export function pagesOf(jobs: readonly Job[]): number[] {
  return jobs.flatMap((job) => (job.what === 'page' ? job.page : []));
}

export function numbersOf(recipients: readonly { readonly number: number }[]): number[] {
  return recipients.map(({ number }) => number);
}
