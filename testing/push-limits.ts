import type { PushInstance } from '../src/push/model/instance.ts';

/** No limits. */
export const NO_LIMITS: PushInstance['limits'] = {
  devices: 0,
  interests: 0,
  publishesPerSecond: 0,
  backendRequestsPerSecond: 0,
  pendingPublishBytes: 0,
  retryHours: 672,
  importRowsPerSecond: 0,
  deviceRequestsPerSecond: 0,
  deviceRowsPerSecond: 0,
  reportsPerSecond: 0,
};

/** The default limits. */
export const DEFAULT_LIMITS: PushInstance['limits'] = {
  devices: 0,
  interests: 50_000_000,
  publishesPerSecond: 100,
  backendRequestsPerSecond: 10_000,
  pendingPublishBytes: 268_435_456,
  retryHours: 72,
  importRowsPerSecond: 2_000,
  deviceRequestsPerSecond: 5_000,
  deviceRowsPerSecond: 5_000,
  reportsPerSecond: 5_000,
};
