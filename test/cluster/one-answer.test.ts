import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin, everyServerTakes, makeApp } from '../../testing/clients/admin-api.ts';
import { LiveStream } from '../../testing/clients/live-stream.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { type Cluster, startCluster } from './cluster.ts';

/** The admin API of one server answers for all of them. */

let cluster: Cluster;
let first: Fanfare;
let second: Fanfare;
beforeAll(async () => {
  cluster = await startCluster(2);
  [first, second] = cluster.servers as readonly [Fanfare, Fanfare];
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** An app of its own at both servers. */
async function newApp(settings: object = {}) {
  const made = await makeApp(first, settings);
  await everyServerTakes({ ...first, nodes: cluster.servers }, `/apps/${made.id}`);
  return { here: new TestApp(first, made), there: new TestApp(second, made) };
}

async function ask<Answer>(server: Fanfare, path: string): Promise<Answer> {
  const { status, json, text } = await admin(server, 'GET', path);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return json as Answer;
}

const nameOf = async (server: Fanfare) => (await ask<{ name: string }>(server, '/server')).name;

interface Nodes {
  readonly nodes: readonly {
    readonly name: string;
    readonly isAsked: boolean;
    readonly answers: boolean;
    readonly silentSinceMs: number | null;
    readonly report: { readonly connections: number; readonly version: string } | null;
  }[];
}

interface Listed {
  readonly servers: readonly { readonly name: string; readonly away: boolean }[];
  readonly connections: readonly { readonly socketId: string; readonly server: string }[];
  readonly next: string | null;
}

/** A list with what all servers have. One that takes longer than a second to answer, as on a busy machine, is left out of a list. */
const listOfAll = (server: Fanfare, path: string) =>
  eventually(
    () => ask<Listed>(server, path),
    ({ servers }) => servers.every(({ away }) => !away),
  );

describe('any server of a cluster', () => {
  it('has the lines of all logs, each with its server', async () => {
    const names = [await nameOf(first), await nameOf(second)];
    interface Log extends Pick<Listed, 'servers'> {
      readonly lines: readonly { readonly atMs: number; readonly server: string }[];
      readonly next: number | null;
    }
    const { here } = await newApp();
    // Watching logs a line.
    for (const server of [first, second, first, second]) {
      await (await LiveStream.open(server, here.id))[Symbol.asyncDispose]();
    }
    const all = await ask<Log>(first, '/log?limit=1000');
    expect(all.servers).toEqual(names.map((name) => ({ name, away: false })));
    expect(new Set(all.lines.map(({ server }) => server))).toEqual(new Set(names));
    expect(all.lines).toEqual(all.lines.toSorted((a, b) => a.atMs - b.atMs));
    // Page by page, none is left out and none comes twice.
    const paged: unknown[] = [];
    for (let [before, isOver] = ['', false]; !isOver; ) {
      const page = await ask<Log>(first, `/log?limit=3${before}`);
      paged.unshift(...page.lines);
      isOver = page.next === null;
      before = `&before=${page.next}`;
    }
    // Further lines may have come meanwhile, also from the time before.
    const known = new Set(all.lines.map((line) => JSON.stringify(line)));
    expect(paged.filter((line) => known.has(JSON.stringify(line)))).toEqual([...all.lines]);
  });

  it('shows the gateways of an instance on all servers', async () => {
    const { json } = await admin(first, 'POST', '/instances', { body: {} });
    const path = `/instances/${(json as { id: string }).id}`;
    await everyServerTakes({ ...first, nodes: cluster.servers }, path);
    const { servers } = await ask<Listed>(second, `${path}/gateways`);
    expect(servers.map(({ name, away }) => [name, away])).toEqual([
      [await nameOf(second), false],
      [await nameOf(first), false],
    ]);
  });

  it('shows how full the memory of each server is', async () => {
    const { memory } = await ask<{ memory: readonly { server: string; shares: object[] }[] }>(
      second,
      '/memory',
    );
    expect(memory.map(({ server, shares }) => [server, shares.length])).toEqual([
      [await nameOf(second), 5],
      [await nameOf(first), 5],
    ]);
  });

  it('lists, shows and closes connections of all servers', async () => {
    const { here, there } = await newApp();
    const names = [await nameOf(first), await nameOf(second)];
    await using own = await here.connect();
    await using ada = await there.connect();
    await using other = await there.connect();
    ada.send(there.signIn(ada, { id: 'ada' }));
    expect((await ada.receive()).event).toBe('pusher:signin_success');
    await other.subscribe('news');

    const path = `/apps/${here.id}`;
    const found: string[] = [];
    for (let after = ''; ; ) {
      const page = await listOfAll(first, `${path}/connections?limit=1${after}`);
      expect(page.servers.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
      found.push(...page.connections.map(({ socketId, server }) => `${socketId} ${server}`));
      if (page.next === null) break;
      after = `&after=${encodeURIComponent(page.next)}`;
    }
    expect(found.toSorted()).toEqual(
      [
        `${own.socketId} ${names[0]}`,
        `${ada.socketId} ${names[1]}`,
        `${other.socketId} ${names[1]}`,
      ].toSorted(),
    );
    const ofAda = await listOfAll(first, `${path}/connections?user=ada`);
    expect(ofAda.connections).toMatchObject([{ socketId: ada.socketId, server: names[1] }]);
    expect(await listOfAll(first, `${path}/channels/news`)).toMatchObject({
      connections: [{ socketId: other.socketId, server: names[1] }],
    });

    const ofOther = `${path}/connections/${other.socketId}`;
    expect(await ask<object>(first, ofOther)).toMatchObject({
      server: names[1],
      channelNames: ['news'],
    });
    expect((await admin(first, 'DELETE', ofOther)).status).toBe(200);
    expect(await other.closed).toMatchObject({ code: 4009 });
    expect((await admin(first, 'DELETE', ofOther)).status).toBe(404);
  });

  it('shows what goes wrong at all servers, and the results of webhooks', async () => {
    using backend = startWebhookEndpoint();
    const { here, there } = await newApp({
      webhooks: [{ url: backend.url, events: ['channel_occupied'] }],
    });
    await using client = await there.connect();
    client.send({ event: 'client-x', channel: 'private-x', data: '' });
    expect((await client.receive()).event).toBe('pusher:error');
    await client.subscribe('news');
    const { problems } = await eventually(
      () =>
        ask<{ problems: readonly { server: string; count: number }[] }>(
          first,
          `/apps/${here.id}/problems`,
        ),
      (answer) => answer.problems.length > 0,
    );
    expect(problems).toMatchObject([{ server: await nameOf(second), count: 1 }]);

    const tried = () =>
      Promise.all(
        [first, second].map((server) =>
          ask<{ endpoints: readonly object[] }>(server, `/webhook-endpoints?app=${here.id}`),
        ),
      );
    // Either server may have sent it.
    const answers = await eventually(tried, (all) => all.every((one) => one.endpoints.length > 0));
    for (const { endpoints } of answers) {
      expect(endpoints).toMatchObject([{ delivered: 1, failed: 0, failingSinceMs: null }]);
    }
  });

  it('shows the last uses of keys at all servers, since the latest start of one of them', async () => {
    const { here, there } = await newApp();
    interface Uses {
      readonly servers: readonly { readonly away: boolean }[];
      readonly sinceMs: number;
      readonly keys: readonly object[];
    }
    const uses = () => ask<Uses>(first, `/apps/${here.id}/keys`);
    expect((await uses()).keys).toEqual([{ key: here.key, connections: 0 }]);
    await using _own = await here.connect();
    await using _other = await there.connect();
    await there.api('GET', '/channels');
    const { servers, sinceMs, keys } = await uses();
    expect(servers.map(({ away }) => away)).toEqual([false, false]);
    expect(keys).toMatchObject([{ connections: 2, lastRequestAtMs: expect.any(Number) }]);
    const { nodes } = await ask<{ nodes: readonly { report: { startedAtMs: number } }[] }>(
      first,
      '/nodes',
    );
    expect(sinceMs).toBe(Math.max(...nodes.map(({ report }) => report.startedAtMs)));
  });

  it('adds up the figures of all servers', async () => {
    const { here, there } = await newApp();
    await using _own = await here.connect();
    await using _other = await there.connect();
    interface Figures {
      readonly servers: readonly object[];
      readonly series: { readonly connections: readonly (number | null)[] };
    }
    const figures = await eventually(
      () => ask<Figures>(first, `/figures?since=${Date.now() - 60_000}`),
      ({ series }) => series.connections.findLast((one) => one !== null) === 2,
    );
    expect(figures.servers).toHaveLength(2);
    expect(await ask<object>(first, '/conditions')).toMatchObject({
      servers: [{ away: false }, { away: false }],
    });
  });

  it('lists the servers, names one that hangs, and forgets one that has stopped', async () => {
    const [own, other] = [await nameOf(first), await nameOf(second)];
    const { nodes } = await ask<Nodes>(second, '/nodes');
    expect(nodes).toMatchObject([
      { name: other, isAsked: true, answers: true, report: { version: expect.any(String) } },
      { name: own, isAsked: false, answers: true, silentSinceMs: null },
    ]);

    second.process.kill('SIGSTOP');
    const { nodes: later } = await ask<Nodes>(first, '/nodes');
    expect(later[1]).toMatchObject({ name: other, answers: false, report: null });
    expect(later[1]?.silentSinceMs).toBeGreaterThan(Date.now() - 60_000);
    const { id } = await makeApp(first);
    const listed = await ask<Listed>(first, `/apps/${id}/connections`);
    expect(listed.servers).toContainEqual({ name: other, away: true });
    const missing = await admin(first, 'GET', `/apps/${id}/connections/1.1`);
    expect(missing.json).toMatchObject({
      error: `There is no open connection 1.1 of the app; ${other} did not answer`,
    });

    const away = { id: 'server-away', text: `The server ${other} does not answer.` };
    expect(await ask<object>(first, '/conditions')).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining(away)]),
    });

    second.process.kill('SIGCONT');
    const isBack = ({ nodes: all }: Nodes) => all[1]?.answers === true;
    await eventually(() => ask<Nodes>(first, '/nodes'), isBack);
    await second.stop();
    const { nodes: last } = await ask<Nodes>(first, '/nodes');
    expect(last.map(({ name }) => name)).toEqual([own]);
  });
});
