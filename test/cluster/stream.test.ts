import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { everyServerTakes, makeApp } from '../../testing/clients/admin-api.ts';
import { LiveStream } from '../../testing/clients/live-stream.ts';
import { eventually } from '../../testing/eventually.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { type Cluster, startCluster } from './cluster.ts';

/** What a stream of one server shows of what happens on another. */

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster(2);
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** A channel whose events show that the second server watches. */
const READY = 'ready';

/** An app of its own at both servers, and a stream at the first that all servers know of. */
async function watched(settings: object = {}) {
  const [first, second] = cluster.servers;
  if (first === undefined || second === undefined) throw new Error('There are two servers');
  const made = await makeApp(first, settings);
  await everyServerTakes({ ...first, nodes: cluster.servers }, `/apps/${made.id}`);
  const stream = await LiveStream.open({ ...first, nodes: cluster.servers }, made.id);
  const there = new TestApp(second, made);
  // The stream names servers that have answered an earlier one. They may begin to watch this app a moment later.
  await eventually(
    async () => {
      await there.trigger({ name: 'e', channel: READY, data: '' });
      return stream.records.some(({ channel }) => channel === READY);
    },
    (isWatched) => isWatched,
  );
  return { stream, here: new TestApp(first, made), there };
}

describe('a live stream of a cluster', () => {
  it('shows an event of another server once, with the receivers of all servers', async () => {
    const { stream, here, there } = await watched();
    await using _ = stream;
    const clients = await Promise.all(
      [here, here, there, there, there].map((app) => app.connect()),
    );
    for (const client of clients) await client.subscribe('news');
    await there.trigger({ name: 'e', channel: 'news', data: 'Hello' });
    const { node } = await stream.record({ kind: 'api', receivers: 5, data: 'Hello' });
    expect(node).not.toBe(Object(await stream.event('hello')).node);
    expect(
      stream.records.filter(({ channel, kind }) => channel === 'news' && kind === 'api'),
    ).toHaveLength(1);
    // A busy loop does not answer a search in time; then there is no suggestion.
    await eventually(
      async () => {
        await there.trigger({ name: 'e', channel: 'newz', data: '' });
        return stream.records.find(({ near }) => near !== undefined);
      },
      (found) => found !== undefined,
    );
    expect(stream.records.find(({ near }) => near !== undefined)).toMatchObject({
      channel: 'newz',
      receivers: 0,
      near: 'news',
    });
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('shows each change of a channel once, whichever servers hold it', async () => {
    const { stream, here, there } = await watched({ subscriptionCounts: true });
    await using _ = stream;
    const room = 'presence-room';
    const member = (user: string) => JSON.stringify({ user_id: user });
    for (const [app, user] of [
      [there, 'ann'],
      [here, 'ann'],
      [here, 'bob'],
    ] as const) {
      const client = await app.connect();
      await client.subscribe(room, app.auth(client, room, member(user)));
      await client.subscribe('public');
      if (user === 'ann') continue;
      client.send({ event: 'pusher:unsubscribe', data: { channel: room } });
      await stream.record({ kind: 'member-removed', user: 'bob' });
    }
    for (const count of [1, 2, 3]) await stream.record({ kind: 'count', count });
    for (const channel of [room, 'public']) await stream.record({ kind: 'occupied', channel });
    await stream.record({ kind: 'member-added', user: 'ann' });
    const changes = stream.records
      .filter(({ kind }) => /^(occupied|vacated|member-.*)$/.test(kind))
      .map(({ kind, channel, user = '' }) => `${kind} ${channel} ${user}`.trim());
    expect(changes.toSorted()).toEqual([
      `member-added ${room} ann`,
      `member-added ${room} bob`,
      `member-removed ${room} bob`,
      'occupied presence-room',
      'occupied public',
    ]);
    const counts = stream.records.filter(({ kind }) => kind === 'count');
    expect(counts.map(({ count }) => Number(count)).toSorted()).toEqual([1, 2, 3]);
  });

  it('leaves the other servers as they were when it is closed', async () => {
    const { stream, there } = await watched();
    await stream[Symbol.asyncDispose]();
    await using again = await LiveStream.open(cluster.servers[1] ?? Object(null), there.id);
    await there.trigger({ name: 'e', channel: 'news', data: '' });
    // What was triggered last for the first stream may be shown too.
    await again.record({ kind: 'api', channel: 'news' });
  });
});
