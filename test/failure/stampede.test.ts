import { expect, it } from 'bun:test';
import { isConfirmation, readServerMessage } from '../../src/doctor/client/client-messages.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { api, channelAuth } from '../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { NotedClient } from '../../testing/verify/noted-client.ts';
import { TestHistory } from '../../testing/verify/test-history.ts';

const CHANNELS = 20;
const MEMBERS = 50;

/** Connections that are being opened at the same moment: what the queue of a listening port takes. */
const AT_ONCE = 250;

/** One member of one channel. */
class Member {
  private readonly client: RawClient;
  private readonly noted: NotedClient;

  private constructor(client: RawClient, noted: NotedClient) {
    this.client = client;
    this.noted = noted;
  }

  static async join({ server, history }: Site, channel: string, userId: string): Promise<Member> {
    const client = await RawClient.connect(server);
    const noted = new NotedClient(history, history.nextNumber());
    noted.opened(client.socketId);
    noted.subscribes(channel, userId);
    const confirmed = Promise.withResolvers<void>();
    client.handOver((text) => {
      const message = readServerMessage(text);
      if (message === undefined) return;
      noted.hears(message, undefined);
      if (isConfirmation(message, channel)) confirmed.resolve();
    });
    const data = JSON.stringify({ user_id: userId });
    const auth = channelAuth(client.socketId, channel, data);
    client.send({ event: 'pusher:subscribe', data: { channel, ...auth } });
    await confirmed.promise;
    return new Member(client, noted);
  }

  async drop(): Promise<void> {
    this.noted.closed(1006);
    await this.client[Symbol.asyncDispose]();
  }
}

interface Site {
  readonly server: Fanfare;
  readonly history: TestHistory;
}

const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const channels = names('presence-', CHANNELS);
const userIds = names('user-', MEMBERS);

/** Lets every user join every channel. */
async function allJoin(site: Site): Promise<Member[]> {
  const wanted = userIds.flatMap((userId) => channels.map((channel) => ({ channel, userId })));
  const joined: Member[] = [];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
        joined.push(await Member.join(site, next.channel, next.userId));
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

/** Has the lists of all members and those of the server compared. */
async function compare({ server, history }: Site): Promise<void> {
  await history.compare();
  const backend = history.backend(server.port);
  for (const channel of channels) await backend.askUsers(channel);
}

it('has right presence lists after 1,000 connections were dropped at once and came back', async () => {
  await using server = await startFanfare({
    app: { limits: { presenceMembers: MEMBERS + 1 } },
  });
  using history = new TestHistory();
  const site = { server, history };
  const observers: Member[] = [];
  for (const channel of channels) observers.push(await Member.join(site, channel, 'observer'));
  const first = await allJoin(site);
  expect(first).toHaveLength(CHANNELS * MEMBERS);
  await compare(site);

  for (const member of first) void member.drop();
  const second = await allJoin(site);

  await compare(site);

  for (const member of second) void member.drop();
  await connectionsAre(server, CHANNELS);
  await compare(site);
  for (const member of observers) await member.drop();
  await connectionsAre(server, 0);
  expect(history.problems('members', 'present')).toEqual([]);
}, 180_000);
