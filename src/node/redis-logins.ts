import type { Config } from '../config/schema.ts';
import { areSamePlaces } from '../config/settings/url-logins.ts';
import type { RedisLogins } from '../engines/redis/link/connector.ts';

type RedisSettings = Extract<Config['engine'], { type: 'redis' }>;

/** What connections to Redis log in with. */
export function redisLoginsOf({ url, urls, sentinels }: RedisSettings): RedisLogins {
  const { user, password } = sentinels;
  return {
    urls: urls ?? (url === undefined ? [] : [url]),
    sentinels: { user: user ?? undefined, password: password ?? undefined },
  };
}

/** The same of a reloaded configuration; `undefined` if it names other servers, which takes a restart. */
export function reloadedLogins(before: Config, now: Config): RedisLogins | undefined {
  if (before.engine.type !== 'redis' || now.engine.type !== 'redis') return undefined;
  const logins = redisLoginsOf(now.engine);
  return areSamePlaces(redisLoginsOf(before.engine).urls, logins.urls) ? logins : undefined;
}
