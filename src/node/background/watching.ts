import { nearChannel } from '../../admin/channels/near-channel.ts';
import { ownerOf, type StreamReader } from '../../admin/stream-reader.ts';
import type { TableMeter } from '../../observability/meter.ts';
import type { InstanceTaps } from '../../push/watching/push-tap.ts';
import type { Log } from '../../runtime/ports.ts';
import { systemTimers } from '../../runtime/system-timers.ts';
import type { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { MemoryInstanceDirectory } from '../../tenants/instance-directory.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { BACKGROUND_RECORDS, PUSH_RECORDS } from '../../watching/limits.ts';
import { LoopTaps } from '../../watching/loop-taps.ts';
import { type AppTick, instanceIn, type WatchedApp } from '../../watching/records.ts';
import type { StreamQuery, WatchStream } from '../../watching/stream.ts';
import { TooManyStreams, Watches } from '../../watching/watches.ts';
import type { Settlement } from '../../webhooks/outbox.ts';
import type { LoopToBackground } from '../link/messages.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';
import { isOccupied, occupiedChannels } from './occupied-channels.ts';

export interface WatchingOptions {
  /** The name of this server. */
  readonly node: string;
  /** Whether other servers also handle events of these apps. */
  readonly isOneOfCluster: boolean;
  readonly apps: MemoryAppDirectory;
  readonly instances: Pick<MemoryInstanceDirectory, 'byId'>;
  /** Gets a tap for each watched instance. */
  readonly instanceTaps: InstanceTaps;
  readonly realtime: RealtimeClient;
  readonly meter: TableMeter;
  readonly log: Log;
}

/** The live event streams of this server. */
export interface Watching extends Disposable {
  /** Opens a stream of events from now on. Throws `OperationRefused` if there are too many streams. */
  open(query: StreamQuery, reader: StreamReader): Promise<ReadableStream<Uint8Array>>;
  /** Handles a message of a realtime loop about watched tenants. */
  receive(message: WatchingMessage): void;
  /** Handles a message of another server. Returns `false` if it is for others or cannot be read. */
  receiveFrom(loop: string, text: string): boolean;
  /** Called when the apps or instances of this server have changed. `deleted`: what was watched and is gone. */
  tenantsChanged(deleted: readonly string[]): void;
}

type WatchingMessage = Extract<LoopToBackground, { readonly type: 'tapped' | 'cluster-sent' }>;

/** Opens the live streams of apps and instances. Does nothing until somebody watches. */
export function openWatching(options: WatchingOptions): Watching {
  const { node, isOneOfCluster, apps, instances, realtime, meter, log } = options;
  meter.set('watchers', 0);
  const { taps, pushTaps } = openTaps(options, (ticks) => watches.receive(ticks));
  // One loop represents this server.
  const send = (to: string | undefined, text: string) =>
    realtime.post(0, { type: 'cluster-send', to, text });
  const watches: Watches = new Watches({
    node,
    timers: systemTimers,
    loops: realtime.count,
    link: isOneOfCluster ? { toAll: (text) => send(undefined, text), to: send } : undefined,
    watch(watched) {
      const isInstance = ({ id }: WatchedApp) => instanceIn(id) !== undefined;
      const watchedApps = watched.filter((one) => !isInstance(one));
      taps.watch(watchedApps);
      pushTaps.watch(watched.filter(isInstance));
      realtime.postToAll({ type: 'watch', apps: watchedApps });
    },
    findNear: async (appId, channel) =>
      (await isOccupied(realtime, appId, channel))
        ? channel
        : nearChannel(channel, await occupiedChannels(realtime, appId)),
    onSkipped: (records) => meter.count('streamEventsSkipped', records),
    onStreams: (streams) => meter.set('watchers', streams),
  });
  return {
    open: openerOf({ watches, realtime, log }),
    receiveFrom: (loop, text) => watches.receiveFrom(loop, text),
    receive(message) {
      switch (message.type) {
        case 'tapped':
          return watches.receive(message.ticks);
        case 'cluster-sent':
          return watches.delivered(message.to, message.isReceived);
        default:
          return message satisfies never;
      }
    },
    tenantsChanged(deleted) {
      taps.apply();
      pushTaps.apply();
      watches.endGone((watched) => {
        if (deleted.includes(watched)) return false;
        const instance = instanceIn(watched);
        return instance === undefined
          ? apps.byId(watched)?.enabled === true
          : instances.byId(instance) !== undefined;
      });
    },
    [Symbol.dispose]() {
      watches.stop();
      taps.stop();
      pushTaps.stop();
    },
  };
}

/** Makes the function that opens a stream. */
function openerOf({
  watches,
  realtime,
  log,
}: Pick<WatchingOptions, 'realtime' | 'log'> & { readonly watches: Watches }): Watching['open'] {
  return async (query, reader) => {
    const { caller, signal } = reader;
    const instance = instanceIn(query.appId);
    const of = instance === undefined ? { app: query.appId } : { instance };
    const who = { ...of, by: caller.user ?? caller.how };
    let stream: WatchStream;
    try {
      const onClosed = () => log.info('Live stream closed', who);
      stream = watches.start(query, { ...ownerOf(reader), onClosed });
    } catch (error) {
      if (!(error instanceof TooManyStreams)) throw error;
      throw new OperationRefused('over-limit', error.message);
    }
    log.info('Live stream opened', who);
    // If the reader disconnects, the listener cancels the stream.
    signal.addEventListener('abort', () => stream.end('session-ended'), { once: true });
    // Messages are handled in order, so after these answers all loops are watching. A loop that does not answer is
    // too busy to send records soon.
    await realtime.askAll('ping', {}).catch(() => undefined);
    return stream.body;
  };
}

/** Opens the taps of apps and instances on this loop. */
function openTaps(
  { apps, instances, instanceTaps }: WatchingOptions,
  send: (ticks: readonly AppTick[]) => void,
): { readonly taps: LoopTaps; readonly pushTaps: LoopTaps } {
  const common = { timers: systemTimers, loops: 1, send };
  const taps = new LoopTaps({
    ...common,
    setTap: (appId, tap) => apps.setTap(appId, tap),
    share: BACKGROUND_RECORDS,
  });
  /** The numbers of watched instances, also of those that were deleted meanwhile. */
  const numbers = new Map<string, number>();
  const pushTaps = new LoopTaps({
    ...common,
    setTap(watched, tap) {
      const known = instances.byId(instanceIn(watched) ?? '')?.number ?? numbers.get(watched);
      if (known === undefined) return;
      instanceTaps.set(known, tap);
      if (tap === undefined) numbers.delete(watched);
      else numbers.set(watched, known);
    },
    share: PUSH_RECORDS,
  });
  return { taps, pushTaps };
}

/** Shows an attempt to send a webhook in the live streams of the app. */
export function recordAttempt(
  apps: MemoryAppDirectory,
  { request, attempt, next }: Settlement,
): void {
  const tap = apps.byId(request.ownerId)?.tap;
  if (tap === undefined || attempt === undefined) return;
  tap.record({
    kind: 'webhook',
    event: request.events,
    // The rest of the URL may contain a secret.
    host: URL.parse(request.url)?.host,
    status: attempt.status,
    outcome: attempt.outcome,
    reason: next.state === 'waiting' ? 'Sent again later' : next.reason,
  });
}
