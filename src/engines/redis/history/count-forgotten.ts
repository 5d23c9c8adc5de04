import type { HistoryLimit, HistoryMeter } from '../../history/histories.ts';
import type { Reply } from '../link/reply.ts';

/** In the order of the scripts' counts. */
const LIMITS: readonly HistoryLimit[] = ['seconds', 'events', 'bytes', 'app', 'server'];

/** Counts the events that a script has forgotten. */
export function countForgotten(meter: HistoryMeter, reply: Reply | undefined): void {
  for (const [index, count] of Array.isArray(reply) ? reply.entries() : []) {
    const limit = LIMITS[index];
    if (typeof count === 'number' && count > 0 && limit !== undefined)
      meter.count('historyForgotten', count, limit);
  }
}
