import type { Hub } from '../../../channels/hub.ts';
import { sharesPort } from '../../../config/settings/shared-port.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { MemoryAppDirectory } from '../../../tenants/app-directory.ts';
import { BodyIntake } from '../../../transports/body-intake.ts';
import { ChannelsApi } from '../../../transports/channels-api/api.ts';
import { listenForChannels } from '../../../transports/channels-listener.ts';
import { ClientAddresses } from '../../../transports/client-address.ts';
import { Clients } from '../../../transports/clients/clients.ts';
import { HttpRoom } from '../../../transports/clients/http-room.ts';
import { ListenerHealth } from '../../../transports/health.ts';
import { FallbackTransport, sendLimit } from '../../../transports/http-fallback/transport.ts';
import { KeepAlive } from '../../../transports/keep-alive.ts';
import { LONGEST_BODY_BYTES } from '../../../transports/push-api/call.ts';
import {
  PushGate,
  type PushGateOptions,
} from '../../../transports/push-api/shared-port/push-gate.ts';
import { Readers } from '../../../transports/sse/readers.ts';
import { ReaderTransport } from '../../../transports/sse/transport.ts';
import { UnreadAnswers } from '../../../transports/unread-answers.ts';
import { ClosingBytes } from '../../../transports/websocket/closing-bytes.ts';
import { WebSocketTransport } from '../../../transports/websocket/transport.ts';
import { boundAcceptedSockets } from '../../sockets/accepted-sockets.ts';
import type { Quotas } from '../engine/quotas.ts';
import type { LoopBase } from '../loop-base.ts';
import type { AudienceParts } from './audience.ts';
import { type FallbackSessions, openFallbackSessions } from './fallback.ts';
import { Listeners } from './listeners.ts';

export interface TransportsParts {
  readonly hub: Hub;
  readonly apps: MemoryAppDirectory;
  readonly audience: AudienceParts;
  readonly quotas: Quotas;
}

/** What clients and backends of a loop talk to. */
export interface Transports {
  readonly clients: Clients;
  readonly fallback: FallbackSessions;
  /** The readers of this loop, and what answers those who come. */
  readonly readers: Readers;
  readonly streams: ReaderTransport;
  readonly api: ChannelsApi;
  /** The bodies of requests to the API, and those that clients send. */
  readonly bodies: readonly BodyIntake[];
  readonly unread: UnreadAnswers;
  readonly sockets: WebSocketTransport;
  readonly keepAlive: KeepAlive;
  readonly health: ListenerHealth;
  /** For requests to push, if they come to the same port. */
  readonly push: PushGate | undefined;
  readonly listeners: Listeners;
}

/** Opens the transports. Nothing listens before `listeners.open`. */
export function openTransports(base: LoopBase, parts: TransportsParts): Transports {
  const { settings, proxies, socketsInUse, meter, log, rateLimitedLog } = base;
  const { hub, apps, quotas, audience } = parts;
  const { host, clientFrameBytes, pathPrefix } = settings;
  const addresses = new ClientAddresses({ host, proxies, log, clock: monotonicTimers });
  const clients = openClients(base, parts);
  const { connections, coalescer } = audience;
  const sockets = new WebSocketTransport({
    clients,
    apps,
    connections,
    loop: {
      coalescer,
      closing: new ClosingBytes(settings.unfinishedBytes, monotonicTimers),
    },
    settings,
    addresses,
    socketsInUse,
    rateLimitedLog,
  });
  const unread = new UnreadAnswers({
    bytesMax: settings.unfinishedBytes,
    clock: monotonicTimers,
    onBroken(answer) {
      meter.count('answersBrokenOff');
      const waitingBytes = answer.waitingBytes();
      rateLimitedLog.info(
        'Answer broken off: it was not read',
        { app: answer.owner },
        { waitingBytes },
      );
    },
  });
  const bus = quotas.cluster?.bus;
  const room = new HttpRoom(clients, Math.ceil(settings.maxFallbackConnections / base.links.count));
  const fallback = openFallbackSessions(base, { bus, clients, apps, audience, unread, room });
  const readers = new Readers({
    ...{ hub, clients, connections, room, unread },
    sendBufferBytes: settings.sendBufferBytes,
    clock: hub.clock,
    now: () => monotonicTimers.now(),
    afterTurn: (run) => void setImmediate(run),
    after: (delayMs, run) => monotonicTimers.after(delayMs, run),
    busyShare: (nowMs) => audience.loopShare.at(nowMs),
  });
  const sendBodies = new BodyIntake(
    { ...settings, requestBytes: sendLimit(clientFrameBytes) },
    monotonicTimers,
  );
  const keepAlive = new KeepAlive(settings.httpIdleSeconds);
  const health = new ListenerHealth();
  const fallbackTransport = new FallbackTransport({
    homes: fallback.cluster ?? fallback.links,
    clients,
    meter,
    addresses,
    bodies: sendBodies,
    clientFrameBytes,
    socketsInUse,
    keepAlive,
  });
  const streams = new ReaderTransport({
    ...{ hub, apps, clients, readers, addresses, pathPrefix, socketsInUse, keepAlive, meter },
  });
  const bodies = new BodyIntake(settings, monotonicTimers, audience.turns);
  const push = openPushGate(base, { addresses, unread });
  const api = new ChannelsApi({ hub, apps, pathPrefix, bodies, unread, meter });
  const listeners = openListeners(base, parts, {
    sockets,
    fallback: fallbackTransport,
    readers: streams,
    api,
    keepAlive,
    addresses,
    health: settings.healthChecks ? health : undefined,
    push: push?.gate,
  });
  return {
    clients,
    fallback,
    readers,
    streams,
    api,
    bodies: [bodies, sendBodies, ...(push === undefined ? [] : [push.bodies])],
    unread,
    sockets,
    keepAlive,
    health,
    push: push?.gate,
    listeners,
  };
}

function openClients(
  { settings, totals, meter }: LoopBase,
  { hub, audience, quotas }: TransportsParts,
): Clients {
  const { connections, slowConsumers, turns } = audience;
  return new Clients({
    hub,
    turns,
    connections,
    quota: quotas.connections,
    slowConsumers,
    settings,
    monotonic: monotonicTimers,
    meter,
    slowConnectionsClosed: totals?.slowConnectionsClosed,
  });
}

/** Opens what hands requests to push over; `undefined` if push has a port of its own. */
function openPushGate(
  { config, settings, links, memory, toBackground }: LoopBase,
  shared: Pick<PushGateOptions, 'addresses' | 'unread'>,
): { readonly gate: PushGate; readonly bodies: BodyIntake } | undefined {
  if (!sharesPort(config)) return undefined;
  // Half of what push may hold; the rest is for the loop that serves it.
  const half = memory.shares.pushHeldBytes / links.count / 2;
  const bytes = Math.max(LONGEST_BODY_BYTES, Math.floor(half / 2));
  const bodies = new BodyIntake(
    { ...settings, requestBytes: LONGEST_BODY_BYTES, unfinishedBytes: 2 * bytes },
    monotonicTimers,
  );
  const gate = new PushGate({
    ...shared,
    pathPrefix: config.push.pathPrefix,
    bodies,
    heldBytes: bytes,
    forward: (request) => toBackground({ type: 'push-request', request }),
  });
  return { gate, bodies };
}

/** What requests of one port go to. */
interface Served {
  readonly sockets: WebSocketTransport;
  readonly fallback: FallbackTransport;
  readonly readers: ReaderTransport;
  readonly api: ChannelsApi;
  readonly keepAlive: KeepAlive;
  readonly addresses: ClientAddresses;
  readonly health: ListenerHealth | undefined;
  readonly push: PushGate | undefined;
}

function openListeners(
  { settings, memory, links, meter }: LoopBase,
  { hub, audience }: TransportsParts,
  served: Served,
): Listeners {
  return new Listeners({
    topics: audience.topics,
    opened() {
      if (memory.unsentBytes !== undefined) boundAcceptedSockets(memory.unsentBytes);
    },
    open: (certificate, port) =>
      listenForChannels({
        settings: { ...settings, port, tls: certificate, reusePort: links.count > 1 },
        hub,
        ...served,
        meter,
      }),
  });
}
