import {
  type HistoryPage,
  type HistoryQuery,
  PAGE_BYTES_MAX,
  type StoredEvent,
} from '../../channels/history/page.ts';
import type { ChannelHistory } from './channel-history.ts';

/** Returns a page of a history. */
export function readPage(history: ChannelHistory, query: HistoryQuery): HistoryPage {
  const lastId = history.newest;
  const step = query.order === 'oldest-first' ? 1 : -1;
  const start = startOf(history, query);
  const events: StoredEvent[] = [];
  let index = start.index;
  let bytes = 0;
  for (; events.length < query.limit; index += step) {
    const event = history.at(index);
    if (event === undefined) break;
    bytes += Buffer.byteLength(event.frame);
    if (bytes > PAGE_BYTES_MAX && events.length > 0) break;
    const { id, frame, timeMs, except } = event;
    events.push({ id, frame, timeMs, except });
  }
  return { events, lastId, more: history.at(index) !== undefined, complete: start.complete };
}

function startOf(history: ChannelHistory, query: HistoryQuery) {
  if (query.order === 'oldest-first') {
    const index = history.countUpTo(query.after);
    return { index: index ?? 0, complete: index !== undefined };
  }
  if (query.before === undefined) return { index: history.size - 1, complete: true };
  // The count includes the event itself. An event that is not kept has no kept predecessors.
  return { index: (history.countUpTo(query.before) ?? 0) - 2, complete: true };
}
