import { pieceData, readTextInFrame } from '../../../channels/appending/value-frames.ts';
import type { EventId } from '../../../channels/history/event-id.ts';
import type { CachedEvent } from '../../../channels/ports.ts';
import { type Reply, textsOf } from '../link/reply.ts';

/** Reads a cached event: its remaining milliseconds, name, data, and its id or nothing. Of a value see `remembered`. */
export function readCached(reply: Reply | undefined): CachedEvent | undefined {
  const [leftMs, name, data, id = '', valueId, length, ended] = textsOf(reply);
  if (leftMs === undefined || name === undefined || data === undefined) return undefined;
  const event = { name, leftMs: Number(leftMs), ...(id === '' ? {} : { id: id as EventId }) };
  if (valueId === undefined) return { ...event, data };
  const hasEnded = ended === 'e';
  const text = readTextInFrame(data);
  return {
    ...event,
    data: pieceData({ id: valueId, at: 0, text, isLast: hasEnded }),
    value: { id: valueId, length: Number(length), hasEnded },
  };
}
