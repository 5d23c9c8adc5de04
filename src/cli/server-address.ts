import type { ListenerAddress } from '../node/link/messages.ts';
import { socketPath } from '../runtime/listen-host.ts';
import { redactedUrl } from '../runtime/logging/redact.ts';
import { ownAddress } from './own-address.ts';

/** The address of a running server, and where a command has it from. */
export interface ServerAddress {
  readonly url: string;
  /** The path of the Unix socket to ask instead of the host of the URL. */
  readonly unix?: string;
  /** What to check if nothing answers there. */
  readonly hint: string;
}

/** The address of `--url`. */
export function givenAddress(url: string): ServerAddress {
  return { url, hint: 'Is the server running? Check --url.' };
}

/** The address of the admin listener that the configuration describes. `source`: its file, if there is one. */
export function configuredAddress(
  address: ListenerAddress,
  source: string | undefined,
): ServerAddress {
  const unix = socketPath(address.host);
  const from =
    source === undefined
      ? 'no configuration file was found here, so this is the address of the default settings and the environment'
      : `this is the address of admin.host${unix === undefined ? ' and admin.port' : ''} in ${source}`;
  return {
    ...(unix === undefined ? { url: ownAddress(address) } : { url: 'http://localhost', unix }),
    hint: `Is the server running? If it is elsewhere: ${from}; --config and --url name another one.`,
  };
}

/** The address without secrets, for messages. */
export function shownAddress({ url, unix }: ServerAddress): string {
  return unix === undefined ? redactedUrl(url) : `unix:${unix}`;
}
