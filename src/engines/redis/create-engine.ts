import { monotonicTimers } from '../../runtime/system-timers.ts';
import { RedisEngine, type RedisEngineOptions } from './engine.ts';
import type { RedisConnectorOptions, SentinelLogin } from './link/connector.ts';
import type { Away } from './link/redis-server.ts';
import { placesOf } from './places.ts';
import { ALL_SCRIPTS } from './scripts/all-scripts.ts';

export interface CreateRedisEngineOptions extends Omit<RedisEngineOptions, 'servers' | 'timers'> {
  /** The Redis servers, in the same order on all nodes, or one cluster. */
  readonly urls: readonly string[];
  readonly tls?: RedisConnectorOptions['tls'];
  readonly sentinelLogin?: SentinelLogin;
  /** Called with the reason when a server becomes unusable, and with `undefined` when it works again. */
  readonly onState?: (server: string, away: Away | undefined) => void;
}

/** Makes an engine. Starting it connects to all servers; closing it closes the connections. */
export function createRedisEngine({
  urls,
  keyPrefix,
  tls,
  sentinelLogin,
  onState = () => undefined,
  ...parts
}: CreateRedisEngineOptions): RedisEngine {
  const places = placesOf({
    urls,
    keyPrefix,
    ...(tls === undefined ? {} : { tls }),
    sentinelLogin,
    log: parts.log,
    timers: monotonicTimers,
    scripts: ALL_SCRIPTS,
    meter: parts.meter,
  });
  return new RedisEngine({
    ...parts,
    keyPrefix,
    timers: monotonicTimers,
    servers: places.map(({ name, place, open }) => ({
      name,
      place,
      open: (listener) =>
        open({
          onMessage: (channel, payload) => listener.onMessage(channel, payload),
          onGap: (why) => listener.onGap(why),
          onAway(away) {
            // A slot of a cluster has another server after each move.
            onState(name, place.tag === undefined ? { ...away, server: name } : away);
            listener.onAway(away);
          },
          onBack() {
            onState(name, undefined);
            listener.onBack();
          },
        }),
    })),
  });
}
