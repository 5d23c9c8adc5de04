import type { RedisEngineServer } from './engine-server.ts';
import { placeKeys } from './layout.ts';
import { parseRedisUrl, serverName } from './link/address.ts';
import { SLOTS } from './link/cluster/slots.ts';
import { RedisConnector, type RedisLogins } from './link/connector.ts';
import { RedisServer, type RedisServerOptions } from './link/redis-server.ts';

export interface PlacesOptions
  extends Omit<
    RedisServerOptions,
    'url' | 'latestUrl' | 'sentinelLogin' | 'slot' | 'prefix' | 'listener'
  > {
  readonly keyPrefix: string;
  /** The Redis servers, in the same order on all nodes, or one cluster. */
  readonly urls: readonly string[];
  /** What the next connections log in with; the addresses are those of `urls`. */
  readonly logins?: () => RedisLogins;
}

/** The parts of one server or cluster. */
type PlaceOptions = Omit<PlacesOptions, 'urls' | 'logins'> &
  Pick<RedisServerOptions, 'url' | 'latestUrl' | 'sentinelLogin'>;

/** Where the state lies: on each server, or in the slots of a cluster. */
export function placesOf({ urls, logins, ...parts }: PlacesOptions): readonly RedisEngineServer[] {
  return urls.flatMap((url, at) => {
    const latest = logins && {
      latestUrl: () => logins().urls[at] ?? url,
      sentinelLogin: () => logins().sentinels,
    };
    const options: PlaceOptions = { ...parts, ...latest, url };
    const address = parseRedisUrl(url);
    if (address?.isCluster === true) return slotsOf(options);
    const place = { database: address?.db ?? 0 };
    return [
      {
        name: serverName(url),
        place,
        open: (listener) => RedisServer.open({ ...options, prefix: options.keyPrefix, listener }),
      } satisfies RedisEngineServer,
    ];
  });
}

function slotsOf(options: PlaceOptions): readonly RedisEngineServer[] {
  const map = new RedisConnector(options).clusterMap();
  return SLOTS.map((slot) => {
    const place = { database: 0, tag: slot.tag };
    const prefix = placeKeys(options.keyPrefix, place);
    return {
      name: `slot ${slot.number} of ${serverName(options.url)}`,
      place,
      open: (listener) =>
        RedisServer.open({ ...options, slot: { ...slot, map }, prefix, listener }),
    };
  });
}
