import { socketPath } from '../../runtime/listen-host.ts';
import type { Config } from '../schema.ts';

/** Whether the clients of push come to the port of Channels: both have the same address, or the same Unix socket. */
export function sharesPort({ channels, push }: Config): boolean {
  if (channels.host !== push.host) return false;
  if (socketPath(channels.host) !== undefined) return true;
  return channels.port !== 0 && channels.port === push.port;
}
