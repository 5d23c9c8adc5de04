import { totalmem } from 'node:os';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../runtime/ports.ts';
import type { OpenFiles } from '../open-files.ts';

type ChannelSettings = Config['channels'];

/** Memory that one subscription takes, rounded up. Bytes. */
const SUBSCRIPTION_BYTES = 2048;

/**
 * Returns the settings of one of several loops. Limits that the loops cannot count together are divided by their
 * number. For the rates of an address this is precise enough: the kernel spreads its connections at random, and the
 * burst of a rate is 60 s worth.
 */
export function settingsOfLoop(settings: ChannelSettings, loops: number): ChannelSettings {
  if (loops === 1) return settings;
  const { addressLimits, requestBytes, unfinishedBytes } = settings;
  return {
    ...settings,
    addressLimits: {
      connectionsPerSecond: Math.ceil(addressLimits.connectionsPerSecond / loops),
      framesPerSecond: Math.ceil(addressLimits.framesPerSecond / loops),
    },
    // A body of the largest allowed size must still fit.
    unfinishedBytes: Math.max(requestBytes, Math.ceil(unfinishedBytes / loops)),
    waitingBytes: Math.ceil(waitingBytesLimit(settings) / loops),
  };
}

/** Returns the limit of connections: the setting, or fewer if there are too few open files. */
export function connectionLimit(
  settings: ChannelSettings,
  openFiles: OpenFiles | undefined,
): number {
  return Math.min(
    configuredConnections(settings),
    openFiles?.connections ?? Number.POSITIVE_INFINITY,
  );
}

/** Returns the limit of subscriptions: the setting, or as many as half of the memory holds. */
export function subscriptionLimit({ maxSubscriptions }: ChannelSettings): number {
  if (maxSubscriptions > 0) return maxSubscriptions;
  return Math.floor(memoryBytes() / 2 / SUBSCRIPTION_BYTES);
}

/** Returns the limit of unread bytes of all clients: the setting, or a quarter of the memory. */
export function waitingBytesLimit({ waitingBytes }: ChannelSettings): number {
  return waitingBytes > 0 ? waitingBytes : Math.floor(memoryBytes() / 4);
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
  if (set === 0) log.info('Connections are limited by open files', line);
  else log.warn('channels.maxConnections is more than open files allow', { ...line, set });
}

function configuredConnections({ maxConnections }: ChannelSettings): number {
  return maxConnections === 0 ? Number.POSITIVE_INFINITY : maxConnections;
}

/** The memory of the machine, or of the container if that is less. */
function memoryBytes(): number {
  // 0 if the process has no limit.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}
