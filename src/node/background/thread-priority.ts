import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { messageOf } from '../../runtime/error-code.ts';
import type { Log } from '../../runtime/ports.ts';

/** Makes the kernel prefer the realtime loop if both share a core. Only Linux has priorities for threads. */
export function lowerPriority(log: Log): void {
  if (process.platform !== 'linux') return;
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').pop());
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // A failure does no harm, but deliveries may be slower during heavy background work.
    log.debug('The background thread keeps its normal priority', { why: messageOf(error) });
  }
}
