import type { ServerFacts } from '../../../asking/facts/servers.ts';
import { ownCommand } from '../../../config/environment/own-command.ts';
import type { Config } from '../../../config/schema.ts';
import { hasTls } from '../../../config/settings/has-tls.ts';
import { BUILT_VERSION } from '../../built-version.ts';
import type { ListenerAddress } from '../../link/messages.ts';
import { serverName } from '../../server-name.ts';

export interface ServerFactsOptions {
  readonly config: Config;
  /** The number of realtime loops. */
  readonly threads: number;
  /** `undefined` until the realtime loops listen. */
  readonly channels: ListenerAddress | undefined;
  readonly push: ListenerAddress;
  readonly admin: ListenerAddress;
}

/** Facts about this server, for operators. */
export function serverFacts({
  config,
  threads,
  channels,
  push,
  admin,
}: ServerFactsOptions): ServerFacts {
  const { host, port, pathPrefix } = config.channels;
  const tls = hasTls(config);
  return {
    name: serverName(config),
    version: BUILT_VERSION,
    command: ownCommand(),
    startedAtMs: Math.round(performance.timeOrigin),
    threads,
    engine: config.engine.type,
    store: config.store.url.startsWith('sqlite:') ? 'sqlite' : 'postgresql',
    listeners: {
      channels: { ...(channels ?? { host, port, tls }), pathPrefix },
      push: { ...push, publicUrl: config.push.publicUrl },
      admin,
    },
  };
}
