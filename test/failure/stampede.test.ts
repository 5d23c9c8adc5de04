import { expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { api, channelAuth } from '../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

const CHANNELS = 20;
const MEMBERS = 50;

/** Connections that are being opened at the same moment: what the queue of a listening port takes. */
const AT_ONCE = 250;

/** What one member has received: the list at first, and every change after it. */
class Member {
  readonly client: RawClient & { socketId: string };
  private readonly known = new Set<string>();

  private constructor(client: RawClient & { socketId: string }) {
    this.client = client;
  }

  static async join(server: Fanfare, channel: string, userId: string): Promise<Member> {
    const client = await RawClient.connect(server);
    const data = JSON.stringify({ user_id: userId });
    const { data: list } = await client.subscribe(
      channel,
      channelAuth(client.socketId, channel, data),
    );
    const member = new Member(client);
    for (const id of JSON.parse(String(list)).presence.ids) member.known.add(id);
    return member;
  }

  /** Reads everything that was sent to it before now, and returns the members that it knows then. */
  async knows(): Promise<string[]> {
    this.client.send({ event: 'pusher:ping', data: {} });
    for (;;) {
      const { event, data } = await this.client.receive();
      if (event === 'pusher:pong') return [...this.known].sort();
      const { user_id: userId } = JSON.parse(String(data));
      if (event === 'pusher_internal:member_added') {
        // No member is announced twice, or leaves without having joined.
        expect(this.known.has(userId)).toBe(false);
        this.known.add(userId);
      } else {
        expect([event, this.known.delete(userId)]).toEqual([
          'pusher_internal:member_removed',
          true,
        ]);
      }
    }
  }
}

const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const channels = names('presence-', CHANNELS);
const userIds = names('user-', MEMBERS);

/** Lets every user join every channel. */
async function allJoin(server: Fanfare): Promise<Member[]> {
  const wanted = userIds.flatMap((userId) => channels.map((channel) => ({ channel, userId })));
  const joined: Member[] = [];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
        joined.push(await Member.join(server, next.channel, next.userId));
      }
    }),
  );
  return joined;
}

/** Waits until the server has as many connections as it should: the ends of the others have arrived. */
async function connectionsAre(server: Fanfare, wanted: number): Promise<void> {
  for (;;) {
    const answer = await api(server, 'GET', `/apps/${APP.id}/channels`, {
      query: { filter_by_prefix: 'presence-', info: 'user_count' },
    });
    const { channels: found } = (await answer.json()) as {
      channels: Record<string, { user_count: number }>;
    };
    const counts = Object.values(found).map(({ user_count }) => user_count);
    if (counts.reduce((sum, count) => sum + count, 0) === wanted) return;
  }
}

/** Compares the server's lists with the expected ones, and the lists of each member with both. */
async function allAgree(server: Fanfare, members: readonly Member[], expected: readonly string[]) {
  const wanted = [...expected].sort();
  for (const channel of channels) {
    const answer = await api(server, 'GET', `/apps/${APP.id}/channels/${channel}/users`);
    const { users } = (await answer.json()) as { users: { id: string }[] };
    expect(users.map(({ id }) => id).sort()).toEqual(wanted);
  }
  for (const member of members) expect(await member.knows()).toEqual(wanted);
}

it('has right presence lists after 1,000 connections were dropped at once and came back', async () => {
  await using server = await startFanfare({
    app: { limits: { presenceMembers: MEMBERS + 1 } },
  });
  const observers: Member[] = [];
  for (const channel of channels) observers.push(await Member.join(server, channel, 'observer'));
  const first = await allJoin(server);
  expect(first).toHaveLength(CHANNELS * MEMBERS);
  await allAgree(server, [...first, ...observers], [...userIds, 'observer']);

  for (const { client } of first) void client[Symbol.asyncDispose]();
  const second = await allJoin(server);

  await allAgree(server, [...second, ...observers], [...userIds, 'observer']);

  for (const { client } of second) void client[Symbol.asyncDispose]();
  await connectionsAre(server, CHANNELS);
  await allAgree(server, observers, ['observer']);
  for (const { client } of observers) await client[Symbol.asyncDispose]();
  await connectionsAre(server, 0);
}, 180_000);
