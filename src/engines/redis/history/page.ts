import { EngineUnavailable } from '../../../channels/engine-failure.ts';
import type { EventId } from '../../../channels/history/event-id.ts';
import {
  type HistoryPage,
  type HistoryQuery,
  PAGE_BYTES_MAX,
  type StoredEvent,
} from '../../../channels/history/page.ts';
import type { SocketId } from '../../../channels/socket-id.ts';
import { type Reply, textsOf } from '../link/reply.ts';

/** Encodes a query for `READ_HISTORY`. */
export function pageToRead(query: HistoryQuery): readonly (string | number)[] {
  const { limit } = query;
  if (query.order === 'oldest-first') return ['after', query.after, limit, PAGE_BYTES_MAX];
  const { before } = query;
  return [before === undefined ? 'newest' : 'before', before ?? '', limit, PAGE_BYTES_MAX];
}

/** Decodes the answer of `READ_HISTORY`. Throws `Unavailable` while servers have different rules. */
export function readHistoryPage(reply: readonly Reply[]): HistoryPage {
  if (reply[0] === 'other rules')
    throw new EngineUnavailable('Servers have different rules for histories');
  const [newest, more, complete, events] = reply;
  return {
    events: textsOf(events).map(readStored),
    lastId: newest as EventId,
    more: more === 1,
    complete: complete === 1,
  };
}

/**
 * Decodes an event as scripts keep it: its id, its time, and its message, which consists of `e` with the excluded
 * socket, the cause and the frame.
 */
function readStored(text: string): StoredEvent {
  const [id = '', timeMs = '', message = ''] = text.split('\n', 3);
  const cause = text.indexOf('\n', id.length + timeMs.length + message.length + 2);
  const frame = text.slice(text.indexOf('\n', cause + 1) + 1);
  const except = message.slice(1);
  return {
    id: id as EventId,
    frame,
    timeMs: Number(timeMs),
    except: except === '' ? undefined : (except as SocketId),
  };
}
