import { setTimeout as sleep } from 'node:timers/promises';
import type { AppLocation } from '../servers/test-app.ts';
import { appAt } from '../servers/test-app.ts';
import { EventReader } from './event-reader.ts';
import { signedTarget } from './sign.ts';

/** Between two tries, which servers that start make fail. Milliseconds. */
const PAUSE_MS = 20;

/** What a reader has read over all of its connections. */
export interface ReadOverCuts {
  /** The data of the events of each channel, in the order in which they came. */
  readonly heard: ReadonlyMap<string, readonly string[]>;
  readonly gaps: readonly string[];
  readonly connections: number;
}

/**
 * Reads channels until it has as many events, and comes back with its last id whenever it is cut off: at the next of the places. `begun`
 * is called when it is in all channels for the first time.
 */
export async function readOverCuts(
  places: readonly AppLocation[],
  channels: readonly string[],
  { events, begun }: { readonly events: number; readonly begun: () => void },
): Promise<ReadOverCuts> {
  const heard = new Map<string, string[]>(channels.map((channel) => [channel, []]));
  const gaps: string[] = [];
  let lastId: string | undefined;
  let left = events;
  let connections = 0;
  const take = ({ event, data }: { readonly event?: string; readonly data: string }) => {
    const frame = JSON.parse(data);
    if (event === 'gap') gaps.push(data);
    if (event !== undefined) return;
    heard.get(frame.channel)?.push(frame.data);
    left--;
  };
  while (left > 0) {
    const app = appAt(places[connections % places.length] as AppLocation);
    const query = { channels: channels.join(',') };
    const target = signedTarget('GET', `/apps/${app.id}/stream`, { query, ...app });
    const headers = lastId === undefined ? undefined : { 'last-event-id': lastId };
    connections++;
    try {
      await using reader = await EventReader.open(app, target, headers);
      if (lastId === undefined) {
        lastId = (await reader.confirmed(channels.length)).id;
        begun();
      }
      while (left > 0) {
        const block = await reader.event();
        take(block);
        lastId = block.id ?? lastId;
      }
    } catch {
      // It was cut off, or the server is not there.
      await sleep(PAUSE_MS);
    }
  }
  return { heard, gaps, connections };
}
