import type { ProblemBook } from '../../channels/problems/problem-book.ts';
import type { Usage } from '../../channels/usage/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { LoopBus } from '../../engines/redis/loop-bus.ts';
import type { TableMeter } from '../../observability/meter.ts';
import type { SocketMarks } from '../../runtime/shared-memory/socket-marks.ts';
import type { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import type { Clients } from '../../transports/clients/clients.ts';
import type { OpenFiles } from '../open-files.ts';
import type { LoopApps } from './apps.ts';
import type { FileChecks } from './clients/file-checks.ts';
import type { Listeners } from './clients/listeners.ts';
import type { LoopEngine } from './engine/engine.ts';
import { logConnectionLimit } from './limits.ts';
import type { Realtime, RealtimeOptions } from './realtime.ts';
import type { Relays } from './relays.ts';

export interface ListenParts extends Pick<RealtimeOptions, 'config' | 'tls' | 'links' | 'log'> {
  readonly settings: Config['channels'];
  readonly openFiles: OpenFiles | undefined;
  readonly listeners: Listeners;
  readonly socketsInUse: SocketMarks;
  readonly proxies: TrustedProxies;
  readonly meter: TableMeter;
  readonly fileChecks: FileChecks;
}

/** Makes the function that starts to listen. */
export function listenerOf(parts: ListenParts): Realtime['listen'] {
  const { config, settings, tls, links, log, openFiles, listeners, fileChecks } = parts;
  return (port) => {
    const listener = listeners.open(tls, port);
    if (openFiles !== undefined && links.index === 0) {
      // Those of the loop hold no more connections than open files allow.
      logConnectionLimit(config.channels, openFiles, log);
    }
    fileChecks.start();
    return { host: settings.host, port: listener.port, tls: tls !== undefined };
  };
}

export interface ReloadParts extends LoopApps, Pick<RealtimeOptions, 'links' | 'log'> {
  readonly engine: LoopEngine;
  readonly clients: Clients;
  readonly usage: Usage;
  readonly problems: ProblemBook;
}

/** Makes the function that replaces the list of apps while the loop serves them. */
export function appReplacerOf(parts: ReloadParts): Realtime['replaceApps'] {
  const { apps, taps, links, log, engine, clients, usage, problems } = parts;
  return (list, { ids, deleted }) => {
    const { gone } = apps.replace(list, deleted);
    engine.appsChanged();
    taps.apply();
    clients.endAll(new Set(gone), 'app-disabled');
    // After their connections have left. The next app with the id must begin with nothing.
    for (const id of deleted) {
      engine.forgetApp(id);
      usage.forget(id);
      problems.forget(id);
    }
    // Logged here because it is true from here on.
    if (links.index === 0) log.info('Apps changed', { apps: list.length, ...ids });
  };
}

/** Makes the functions that handle acknowledgements of the background loop. */
export function acknowledgementsOf({
  webhooks,
  ruleEvents,
}: Relays): Pick<Realtime, 'webhookEventsTaken' | 'webhookEventsOver' | 'ruleEventDone'> {
  return {
    webhookEventsTaken: (events) => webhooks.taken(events),
    webhookEventsOver(ids) {
      for (const id of ids) webhooks.settle(id);
    },
    ruleEventDone: (event) => ruleEvents.done(event),
  };
}

/** Makes the function that sends notices to other servers; without a bus there are none. */
export function notifierOf(
  bus: LoopBus | undefined,
  toBackground: RealtimeOptions['toBackground'],
): Realtime['notifyServers'] {
  return (to, text) => {
    void bus?.notify(to, text).then((receivers) => {
      // While Redis is away, `receivers` is undefined. The notice then counts as received, because it will be
      // repeated.
      const isReceived = receivers !== 0;
      if (to !== undefined) toBackground({ type: 'cluster-sent', to, isReceived });
    });
  };
}
