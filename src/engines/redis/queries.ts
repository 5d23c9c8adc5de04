import type { App } from '../../channels/app.ts';
import type { ChannelName, ChannelText } from '../../channels/channel-name.ts';
import { EngineUnavailable } from '../../channels/engine-failure.ts';
import { topicOf } from '../../channels/event.ts';
import { newHalf } from '../../channels/history/event-id.ts';
import { historyRuleOf } from '../../channels/history/history-rule.ts';
import { EMPTY_PAGE, type HistoryPage, type HistoryQuery } from '../../channels/history/page.ts';
import type {
  CachedEvent,
  ChannelCounts,
  ChannelQuery,
  ChannelWalk,
  Member,
  MembersPage,
  MembersQuery,
  UserStatus,
} from '../../channels/ports.ts';
import { watchChannel, watchTopic } from '../../channels/users/watch-topic.ts';
import { membersPage, type NumberedMember } from '../members-page.ts';
import { PARTITIONS, partitionOf } from '../partition.ts';
import { pageToRead, readHistoryPage } from './history/page.ts';
import { rulesText } from './history/rules.ts';
import { type Reply, textsOf } from './link/reply.ts';
import type { RedisScript } from './link/script.ts';
import type { Partition } from './partition.ts';
import { READ_HISTORY } from './scripts/histories.ts';
import {
  CACHED,
  CHANNEL_COUNT,
  COUNTS,
  MEMBER,
  MEMBERS,
  MEMBERS_PAGE,
  PAGE,
} from './scripts/queries.ts';
import { USER_STATUSES } from './scripts/users.ts';
import { readCached } from './topics/cached-event.ts';
import { readMembers, userIdText } from './topics/stream-message.ts';
import { RedisWalk } from './walk.ts';

/** The limit of members of a large channel that are listed at once. */
const MEMBERS_MAX = 1000;

/**
 * Answers what backends and operators ask about the channels of all nodes. Each query rejects with `Unavailable`
 * while Redis is away.
 */
export class Queries {
  private readonly partitions: readonly Partition[];

  /** `partitions` may be filled later. */
  constructor(partitions: readonly Partition[]) {
    this.partitions = partitions;
  }

  async members(app: App, channel: ChannelName): Promise<readonly Member[]> {
    const members = await this.numbered(app, channel, { after: undefined, limit: MEMBERS_MAX });
    return members.map(([, member]) => member);
  }

  async membersPage(app: App, channel: ChannelName, page: MembersQuery): Promise<MembersPage> {
    // One more shows whether there is another page.
    const members = await this.numbered(app, channel, { ...page, limit: page.limit + 1 });
    return membersPage(members, page);
  }

  async member(app: App, channel: ChannelName, userId: string): Promise<Member | undefined> {
    const id = userIdText(userId);
    const [found] = await this.ask(app, channel, MEMBER, [id]);
    const [member] = readMembers(found === '' ? [] : [id, found ?? null]);
    return member?.[1];
  }

  async counts(app: App, channel: ChannelName): Promise<ChannelCounts> {
    const [subscriptions, users] = await this.ask(app, channel, COUNTS);
    return { subscriptions: Number(subscriptions), users: Number(users) };
  }

  async cached(app: App, channel: ChannelName): Promise<CachedEvent | undefined> {
    const [event] = await this.ask(app, channel, CACHED);
    return readCached(event);
  }

  async history(app: App, { text }: ChannelName, page: HistoryQuery): Promise<HistoryPage> {
    const rule = historyRuleOf(app, text);
    if (rule === undefined) return EMPTY_PAGE;
    const begin = [newHalf(), rule.seconds];
    const args = [`${app.id}/${text}`, rulesText(app), ...pageToRead(page), ...begin];
    return readHistoryPage(
      await query(partitionIn(this.partitions, app, text), READ_HISTORY, args),
    );
  }

  async userStatuses(app: App, userIds: readonly string[]): Promise<readonly UserStatus[]> {
    const partitionOfUser = (id: string) => partitionIn(this.partitions, app, watchChannel(id));
    const byUser = new Map<string, UserStatus>();
    await Promise.all(
      Array.from(Map.groupBy(new Set(userIds), partitionOfUser), async ([partition, ids]) => {
        const topics = ids.map((id) => watchTopic(app, id));
        const answer = textsOf([...(await query(partition, USER_STATUSES, topics))]);
        for (const [n, id] of ids.entries()) byUser.set(id, readUserStatus(answer[n]));
      }),
    );
    return userIds.map((id) => byUser.get(id) ?? readUserStatus(undefined));
  }

  async channelCountOf(app: App): Promise<number> {
    const counts = await Promise.all(
      this.partitions.map((partition) => query(partition, CHANNEL_COUNT, [app.id])),
    );
    return counts.reduce((sum, [count]) => sum + Number(count), 0);
  }

  channels(app: App, { prefix, after }: ChannelQuery): ChannelWalk {
    return new RedisWalk(PARTITIONS, { after }, async (number, position, limit) => {
      const partition = this.partitions[number];
      if (partition === undefined) throw new Error(`There is no partition ${number}`);
      const [rows, next] = await query(partition, PAGE, [app.id, prefix, position, limit]);
      return {
        rows: (rows as [ChannelText, string, number, string][]).map((row) => ({
          name: row[0],
          counts: { subscriptions: Number(row[1]), users: row[2] },
          position: Number(row[3]),
        })),
        next: next === '' ? undefined : Number(next),
      };
    });
  }

  /** Reads all members of a channel, or some if it is large. */
  private async numbered(
    app: App,
    channel: ChannelName,
    { after = '0', limit }: MembersQuery,
  ): Promise<readonly NumberedMember[]> {
    const mayBeLarge = app.presence.some(({ shown }) => shown !== null);
    const [rows] = mayBeLarge
      ? await this.ask(app, channel, MEMBERS_PAGE, [after, String(limit)])
      : await this.ask(app, channel, MEMBERS);
    return readMembers(rows);
  }

  private ask(
    app: App,
    channel: ChannelName,
    script: RedisScript,
    more: readonly string[] = [],
  ): Promise<readonly Reply[]> {
    const args = [topicOf(app, channel), ...more];
    return query(partitionIn(this.partitions, app, channel.text), script, args);
  }
}

/** See `USER_STATUSES`. */
function readUserStatus(text = '-'): UserStatus {
  const atMs = text.length > 1 ? Number(text.slice(1)) : undefined;
  return text.startsWith('+')
    ? { isOnline: true, sinceMs: atMs, lastSeenMs: undefined }
    : { isOnline: false, sinceMs: undefined, lastSeenMs: atMs };
}

/** Asks a partition, or fails immediately: for a query, a refusal is better than a late answer. */
function query(
  partition: Partition,
  script: RedisScript,
  args: readonly (string | number)[],
): Promise<readonly Reply[]> {
  if (!partition.isReady) return Promise.reject(new EngineUnavailable('Redis is away'));
  return partition.call(script, args);
}

/** The partition of a channel, among those that are open. */
export function partitionIn(
  partitions: readonly Partition[],
  app: App,
  channel: string,
): Partition {
  const partition = partitions[partitionOf(app, channel)];
  if (partition === undefined) throw new Error('The engine has not started');
  return partition;
}
