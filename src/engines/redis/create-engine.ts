import { monotonicTimers } from '../../runtime/system-timers.ts';
import { RedisEngine, type RedisEngineOptions } from './engine.ts';
import type { RedisConnectorOptions, RedisLogins } from './link/connector.ts';
import type { Away } from './link/redis-server.ts';
import { placesOf } from './places.ts';
import { ALL_SCRIPTS } from './scripts/all-scripts.ts';
import type { SharedLinks } from './shared/shared-links.ts';

export interface CreateRedisEngineOptions
  extends Omit<RedisEngineOptions, 'servers' | 'linksPerServer' | 'busLink' | 'timers'> {
  /** The Redis servers, in the same order on all nodes, or one cluster. */
  readonly urls: readonly string[];
  readonly tls?: RedisConnectorOptions['tls'];
  /** What the next connections log in with; the addresses are those of `urls`. */
  readonly logins?: () => RedisLogins;
  /** Of a process with several loops: the links that they share. */
  readonly sharedLinks?: SharedLinks | undefined;
  /** Called with the reason when a link becomes unusable, and with `undefined` when it works again. */
  readonly onState?: (link: string, away: Away | undefined) => void;
}

/** Makes an engine. Starting it connects to all servers; closing it closes the connections. */
export function createRedisEngine({
  urls,
  keyPrefix,
  tls,
  logins,
  sharedLinks,
  onState = () => undefined,
  ...parts
}: CreateRedisEngineOptions): RedisEngine {
  const places = placesOf({
    urls,
    keyPrefix,
    ...(tls === undefined ? {} : { tls }),
    ...(logins === undefined ? {} : { logins }),
    log: parts.log,
    timers: monotonicTimers,
    scripts: ALL_SCRIPTS,
    meter: parts.meter,
  });
  const links = sharedLinks?.over(places) ?? { servers: places };
  return new RedisEngine({
    ...parts,
    ...links,
    keyPrefix,
    timers: monotonicTimers,
    servers: links.servers.map(({ name, place, open }, link) => ({
      name,
      place,
      open: (listener) =>
        open({
          onMessage: (channel, payload, loops) => listener.onMessage(channel, payload, loops),
          onGap: (why) => listener.onGap(why),
          onAway(away) {
            // A slot of a cluster has another server after each move.
            onState(String(link), place.tag === undefined ? { ...away, server: name } : away);
            listener.onAway(away);
          },
          onBack() {
            onState(String(link), undefined);
            listener.onBack();
          },
        }),
    })),
  });
}
