import { NEAR_AMONG_MAX } from '../../admin/channels/near-search.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';

/** A page may be short or empty, so the number of questions has a limit of its own. */
const PAGES_MAX = 10;

/** Returns names of occupied channels of an app, not necessarily all: among them, one that was meant is searched. */
export async function occupiedChannels(
  realtime: RealtimeClient,
  appId: string,
): Promise<readonly string[]> {
  const names: string[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES_MAX && names.length < NEAR_AMONG_MAX; page++) {
    const limit = NEAR_AMONG_MAX - names.length;
    const query = { what: 'live-channels', appId, prefix: '', after, limit } as const;
    const { channels, next } = await realtime.ask(query);
    names.push(...channels.map(({ name }) => name));
    if (next === undefined) break;
    after = next;
  }
  return names;
}
