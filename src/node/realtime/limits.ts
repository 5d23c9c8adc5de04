import type { Config } from '../../config/schema.ts';
import type { Log } from '../../runtime/ports.ts';
import type { MemoryShares } from '../memory/shares.ts';
import { areFew, type OpenFiles, RAISE_LIMIT } from '../open-files.ts';

type ChannelSettings = Config['channels'];

/** The bounds of memory that are settings of the channels listener. */
type Bounds = Pick<MemoryShares, 'historyBytes' | 'unfinishedBytes' | 'frameBytes'>;

/** The settings of one realtime loop. Bounds that follow from the memory are in it. */
export type LoopSettings = Omit<ChannelSettings, keyof Bounds> & Bounds;

/**
 * Returns the settings of one of several loops. Limits that the loops cannot count together are divided by their
 * number. For the rates of an address this is precise enough: the kernel spreads its connections at random, and the
 * burst of a rate is 60 s worth.
 */
export function settingsOfLoop(
  settings: ChannelSettings,
  shares: MemoryShares,
  loops: number,
): LoopSettings {
  const { addressLimits, requestBytes } = settings;
  const { connections, subscriptions, historyBytes, unfinishedBytes, waitingBytes } = shares;
  const { frameBytes } = shares;
  return {
    ...settings,
    addressLimits: {
      connectionsPerSecond: Math.ceil(addressLimits.connectionsPerSecond / loops),
      framesPerSecond: Math.ceil(addressLimits.framesPerSecond / loops),
    },
    maxConnections: connections,
    maxSubscriptions: subscriptions,
    historyBytes,
    frameBytes,
    // A body of the largest allowed size must still fit.
    unfinishedBytes: Math.max(requestBytes, Math.ceil(unfinishedBytes / loops)),
    waitingBytes: Math.ceil(waitingBytes / loops),
  };
}

/** Returns the limit of connections: the setting or what the memory allows, or fewer if there are too few open files. */
export function connectionLimit(
  { maxConnections }: Pick<LoopSettings, 'maxConnections'>,
  openFiles: OpenFiles | undefined,
): number {
  return Math.min(maxConnections, openFiles?.connections ?? Number.POSITIVE_INFINITY);
}

/** Logs that open files allow fewer connections than the settings do. */
export function logConnectionLimit(
  settings: ChannelSettings,
  openFiles: OpenFiles,
  log: Log,
): void {
  const { limit, push, connections } = openFiles;
  if (configuredConnections(settings) <= connections) return;
  const line = { connections, pushConnections: push, openFilesLimit: limit };
  const set = settings.maxConnections;
  if (set === 0) {
    if (areFew(openFiles)) {
      log.warn('Few connections are possible: the limit of open files is low', {
        ...line,
        hint: RAISE_LIMIT,
      });
    } else log.info('Connections are limited by open files', line);
  } else log.warn('channels.maxConnections is more than open files allow', { ...line, set });
}

function configuredConnections({ maxConnections }: ChannelSettings): number {
  return maxConnections === 0 ? Number.POSITIVE_INFINITY : maxConnections;
}
