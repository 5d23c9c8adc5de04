import type { EventId } from '../../../channels/history/event-id.ts';
import type { CachedEvent } from '../../../channels/ports.ts';
import { type Reply, textsOf } from '../link/reply.ts';

/** Reads a cached event: its remaining milliseconds, name, data, and its id or nothing. */
export function readCached(reply: Reply | undefined): CachedEvent | undefined {
  const [leftMs, name, data, id = ''] = textsOf(reply);
  if (leftMs === undefined || name === undefined || data === undefined) return undefined;
  const cached = { name, data, leftMs: Number(leftMs) };
  return id === '' ? cached : { ...cached, id: id as EventId };
}
