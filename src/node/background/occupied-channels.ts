import { NEAR_AMONG_MAX } from '../../admin/channels/near-search.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';

/** A page may be short or empty, so the number of questions has a limit of its own. */
const PAGES_MAX = 10;

/** Channels with the same beginning that are looked through for one name. */
const SAME_BEGINNING_MAX = 100;

/** Returns names of occupied channels of an app, not necessarily all: among them, one that was meant is searched. */
export async function occupiedChannels(
  realtime: RealtimeClient,
  appId: string,
): Promise<readonly string[]> {
  return await namesOf(realtime, { appId, prefix: '', most: NEAR_AMONG_MAX });
}

/** Whether a channel of an app is occupied. */
export async function isOccupied(
  realtime: RealtimeClient,
  appId: string,
  channel: string,
): Promise<boolean> {
  const names = await namesOf(realtime, { appId, prefix: channel, most: SAME_BEGINNING_MAX });
  return names.includes(channel);
}

async function namesOf(
  realtime: RealtimeClient,
  {
    appId,
    prefix,
    most,
  }: { readonly appId: string; readonly prefix: string; readonly most: number },
): Promise<readonly string[]> {
  const names: string[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES_MAX && names.length < most; page++) {
    const query = { appId, prefix, after, limit: most - names.length };
    const { channels, next } = await realtime.ask('live-channels', query);
    names.push(...channels.map(({ name }) => name));
    if (next === undefined) break;
    after = next;
  }
  return names;
}
