import type { Usage } from '../../channels/usage/usage.ts';
import type { TableMeter } from '../../observability/meter.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { UnreadableMessages } from '../../runtime/unreadable.ts';
import type { SlowConsumers } from '../../transports/clients/frames/slow-consumers.ts';
import { startUsageReports } from './apps.ts';
import { startChecks } from './clients/checks.ts';
import { openFileChecks } from './clients/file-checks.ts';
import type { Transports } from './clients/transports.ts';
import {
  acknowledgementsOf,
  appReplacerOf,
  type ListenParts,
  listenerOf,
  notifierOf,
  type ReloadParts,
} from './commands.ts';
import type { LiveLoop } from './engine/live-loop.ts';
import type { Figures } from './figures.ts';
import { receiveFromLoops } from './loop-messages.ts';
import type { Realtime } from './realtime.ts';
import { type CloseParts, closingOf, type DrainParts, drainOf } from './stopping.ts';

/** The parts of a loop that its commands use. Each command gets those of its own type. */
export interface RunningParts
  extends Omit<ListenParts, 'fileChecks'>,
    ReloadParts,
    Omit<DrainParts, 'stopChecks'>,
    Omit<CloseParts, 'usageReports'>,
    Pick<Transports, 'bodies' | 'health' | 'push' | 'unread'> {
  readonly usage: Usage;
  readonly meter: TableMeter;
  readonly live: LiveLoop;
  readonly slowConsumers: SlowConsumers;
  readonly figures: Figures;
}

/** Starts what runs regularly in an open loop, and receives from the other loops. Returns its commands. */
export function runLoop(parts: RunningParts): Realtime {
  const { links, engine, live, fallback, exchange, apps, taps, usage, log, meter } = parts;
  const { health, push, listeners, relays, figures, cluster, toBackground } = parts;
  const fileChecks = openFileChecks(parts);
  const stopChecks = startChecks(parts);
  const usageReports = startUsageReports(usage, toBackground);
  const unreadable = new UnreadableMessages({ log, meter, clock: monotonicTimers });
  receiveFromLoops(links, {
    ...{ engine, sessions: fallback.links, live, exchange, apps, usage, unreadable },
  });
  exchange?.start();
  return {
    connect: () => engine.connect(),
    listen: listenerOf({ ...parts, fileChecks }),
    replaceApps: appReplacerOf(parts),
    replaceCertificate: (certificate) => listeners.replace(certificate),
    useRedisTls(tls) {
      if (cluster !== undefined) cluster.tls = tls;
    },
    ...acknowledgementsOf(relays),
    setPushConnections: (open) => fileChecks.setPushConnections(open),
    pushAnswered: (answer) => push?.answered(answer),
    setReadiness: (isReady) => health.setReady(isReady),
    watch: (watched) => taps.watch(watched),
    notifyServers: notifierOf(cluster?.bus, toBackground),
    answer: (question) => figures.answer(question),
    ...drainOf({
      ...parts,
      stopChecks() {
        stopChecks();
        fileChecks.stop();
      },
    }),
    ...closingOf({ ...parts, usageReports }),
  };
}
