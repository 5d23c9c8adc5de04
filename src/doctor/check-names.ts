/** The checks in their order. Programs read these names. */
export const checkNames = [
  'url',
  'dns',
  'tcp',
  'tls',
  'api-dns',
  'api-tcp',
  'api-tls',
  'http',
  'redirect',
  'clock',
  'keep-alive',
  'websocket',
  'first-message',
  'activity-timeout',
  'pusher-ping',
  'websocket-ping',
  'second-connection',
  'public-channel',
  'private-channel',
  'auth-endpoint',
  'signed-request',
  'trigger',
  'delivery',
  'unchanged-data',
  'excluded-connection',
  'large-header',
  'large-body',
  'xhr-preflight',
  'xhr-streaming',
  'xhr-polling',
  'idle',
  'xhr-idle',
  'close',
] as const;

/** What is checked of each Redis server of a cluster. */
export const redisCheckNames = [
  'redis',
  'redis-sentinels',
  'redis-slots',
  'redis-memory',
  'redis-persistence',
  'redis-clock',
  'redis-layout',
  'redis-scripts',
  'redis-publish',
  'redis-connections',
] as const;

/** What is checked of a store in PostgreSQL. */
export const storeCheckNames = ['store', 'store-tls', 'store-rights', 'store-pooler'] as const;

/** What is checked of the proxy for outgoing requests, for each gateway. */
export const proxyCheckNames = ['proxy'] as const;

/** What all servers of a cluster must have in common, as far as one configuration shows it. */
export const clusterCheckNames = ['servers', 'admin-password'] as const;

export type CheckName =
  | (typeof checkNames)[number]
  | (typeof redisCheckNames)[number]
  | (typeof storeCheckNames)[number]
  | (typeof proxyCheckNames)[number]
  | (typeof clusterCheckNames)[number];
