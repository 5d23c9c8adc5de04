import type { Config } from '../schema.ts';

/** Whether the clients of push come to the port of Channels: both have the same address. */
export function sharesPort({ channels, push }: Config): boolean {
  return channels.port !== 0 && channels.port === push.port && channels.host === push.host;
}
