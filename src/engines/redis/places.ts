import type { RedisEngineServer } from './engine-server.ts';
import { placeKeys } from './layout.ts';
import { parseRedisUrl, serverName } from './link/address.ts';
import { SLOTS } from './link/cluster/slots.ts';
import { RedisConnector } from './link/connector.ts';
import { RedisServer, type RedisServerOptions } from './link/redis-server.ts';

export interface PlacesOptions
  extends Omit<RedisServerOptions, 'url' | 'slot' | 'prefix' | 'listener'> {
  readonly keyPrefix: string;
  /** The Redis servers, in the same order on all nodes, or one cluster. */
  readonly urls: readonly string[];
}

/** Where the state lies: on each server, or in the slots of a cluster. */
export function placesOf({ urls, ...options }: PlacesOptions): readonly RedisEngineServer[] {
  return urls.flatMap((url) => {
    const address = parseRedisUrl(url);
    if (address?.isCluster === true) return slotsOf(url, options);
    const place = { database: address?.db ?? 0 };
    return [
      {
        name: serverName(url),
        place,
        open: (listener) =>
          RedisServer.open({ ...options, url, prefix: options.keyPrefix, listener }),
      } satisfies RedisEngineServer,
    ];
  });
}

function slotsOf(url: string, options: Omit<PlacesOptions, 'urls'>): readonly RedisEngineServer[] {
  const map = new RedisConnector({ ...options, url }).clusterMap();
  return SLOTS.map((slot) => {
    const place = { database: 0, tag: slot.tag };
    const prefix = placeKeys(options.keyPrefix, place);
    return {
      name: `slot ${slot.number} of ${serverName(url)}`,
      place,
      open: (listener) =>
        RedisServer.open({ ...options, url, slot: { ...slot, map }, prefix, listener }),
    };
  });
}
