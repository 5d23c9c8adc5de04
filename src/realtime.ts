import { MemoryAppDirectory } from './apps/directory.ts';
import type { App } from './channels/app.ts';
import type { Clock, Hub, Log } from './channels/ports.ts';
import type { Config } from './config/schema.ts';
import { MemoryEventCache } from './engines/memory/event-cache.ts';
import { MemoryRoster } from './engines/memory/roster.ts';
import type { ListenerAddress } from './messages.ts';
import { ChannelsApi } from './transports/channels-api/api.ts';
import { listenForChannels } from './transports/channels-listener.ts';
import { FinishedHandshakes } from './transports/handshakes/finished-handshakes.ts';
import { plainAddress } from './transports/handshakes/remote-address.ts';
import { WebSocketAudience } from './transports/websocket/audience.ts';
import { Backlog } from './transports/websocket/backlog.ts';
import { Connections } from './transports/websocket/connections.ts';
import { drain } from './transports/websocket/drain.ts';
import { WebSocketTransport } from './transports/websocket/transport.ts';
import { within } from './within.ts';

/** How often silent and slow connections are looked for. Milliseconds. */
const CHECK_INTERVAL_MS = 1000;

export interface RealtimeOptions {
  readonly config: Config;
  readonly apps: readonly App[];
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly connectionGauge: Int32Array;
  readonly clock: Clock;
  readonly log: Log;
}

/** The loop that delivers: WebSockets and the HTTP API of Channels. It owns no disk and runs no SQL. */
export interface Realtime {
  readonly listener: ListenerAddress;
  /** Takes over a new list of apps; connections of those that are gone end. */
  replaceApps(apps: readonly App[]): void;
  /** The remote ports of an address whose connections have completed a handshake or a request. */
  finishedPorts(address: string): readonly number[];
  /** Takes no new connections, and ends those there are, spread over the drain time. */
  stop(): Promise<void>;
}

export function startRealtime(options: RealtimeOptions): Realtime {
  const { config, clock, log, tls } = options;
  const { channels } = config;

  const apps = new MemoryAppDirectory();
  apps.replace(options.apps);
  const connections = new Connections(options.connectionGauge);
  const backlog = new Backlog(connections, channels.sendBufferBytes);
  const audience = new WebSocketAudience(connections, backlog);
  const hub: Hub = {
    audience,
    roster: new MemoryRoster(),
    cache: new MemoryEventCache(clock),
    clock,
    log,
  };
  const transport = new WebSocketTransport(hub, apps, connections, backlog, channels);
  const api = new ChannelsApi(hub, apps, channels);
  const finished = new FinishedHandshakes((address) => webSocketPorts(connections, address));

  const server = listenForChannels({ ...channels, tls }, hub, transport, api, finished);
  audience.attach(server);
  const checks = setInterval(() => {
    backlog.sample();
    transport.checkHeartbeats();
  }, CHECK_INTERVAL_MS);

  return {
    listener: { host: channels.host, port: server.port ?? channels.port, tls: tls !== undefined },
    replaceApps(list) {
      for (const app of apps.replace(list).gone) transport.endAll(app, 'app-disabled');
    },
    finishedPorts: (address) => finished.suspect(address),
    async stop() {
      const stopped = server.stop();
      await drain(connections, config.drainSeconds, (socket) =>
        transport.end(socket, 'server-stopping'),
      );
      clearInterval(checks);
      server.closeIdleConnections();
      // A client may leave its end half open for as long as it likes; this does not wait for it.
      await within(STOP_WAIT_MS, stopped);
      await within(STOP_WAIT_MS, server.stop(true));
    },
  };
}

/** What requests under way and closing handshakes may take at the end. Milliseconds. */
const STOP_WAIT_MS = 1000;

function* webSocketPorts(connections: Connections, address: string): Iterable<number> {
  for (const { data } of connections.all()) {
    if (plainAddress(data.address) === address) yield data.port;
  }
}
