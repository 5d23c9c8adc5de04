import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { RuleName } from '../../src/verify/check/verdict.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import type { TestApp } from '../../testing/servers/test-app.ts';
import { ROOM, usersAt } from '../cluster/cluster.ts';
import { View } from '../cluster/view.ts';
import { type ReleaseSource, releases, writeSource } from '../faults/releases.ts';
import { COUNTED, Site, STAYING, type Version } from './side-by-side.fixture.ts';

/** A server of the latest release and one of this version act as one while servers are upgraded, whichever was there first. */

const CACHED = 'cache-prices';
const MISSED = 20;
const ANN = '#server-to-user-ann';

const TRIED: readonly RuleName[] = [
  ...(['order', 'after', 'once', 'known', 'arrives'] as const),
  ...(['members', 'present', 'counts'] as const),
];

// A clone without history lacks it.
const release = await releases().then(
  (all) => all.at(-1),
  () => undefined,
);
let source: ReleaseSource;

beforeAll(() => {
  if (release !== undefined) source = writeSource(release);
});
afterAll(() => source?.[Symbol.dispose]());

describe.skipIf(release === undefined).each<readonly [first: Version, second: Version]>([
  ['released', 'present'],
  ['present', 'released'],
])('a %s server, and a %s one that joins it,', (first, second) => {
  it('serve everybody together, also when they are cut off, are killed and are replaced', async () => {
    await using site = await Site.open(source);
    const { history } = site;
    const versions = [first, second];
    await site.add(first);
    await expectCached(site.app(0), [site.app(0)], 'before the other came');
    await site.add(second);
    await site.areKnownToEachOther();
    await expectCached(site.app(0), [site.app(1)], 'at the first');
    await expectCached(site.app(1), [site.app(0), site.app(1)], 'at the second');

    const end = site.load(0, 1);
    await history.until(() => history.accepted >= 2 * MISSED, 'events of both');
    await end();
    await site.settle();
    await expectSameAnswers(site);
    await expectUsersKnown(site);

    for (const at of [0, 1]) {
      const { sockets } = site;
      await site.cutOff(at, () => site.trigger(1 - at, MISSED));
      await site.settle();
      // They have missed nothing, so nobody had to come back.
      expect(site.sockets).toEqual(sockets);
    }

    // Each starts again while the other runs, so one direction is enough.
    const isUpgraded = first === 'released';
    if (isUpgraded) await killAndUpgrade(site, versions);
    await site.settle();
    await expectSameAnswers(site);
    // Without it, nobody has had to come back.
    const tried = isUpgraded ? ([...TRIED, 'resumes'] as const) : TRIED;
    expect(history.problems(...tried)).toEqual([]);
  }, 300_000);
});

/** Each server is killed and comes back, and in the end the released one is replaced under load. */
async function killAndUpgrade(site: Site, versions: readonly Version[]): Promise<void> {
  const { history } = site;
  for (const at of [0, 1]) {
    const others = site.load(1 - at);
    await site.kill(at);
    const gone = Array.from({ length: STAYING }, () => '1 times there, 1 times gone');
    await eventually(
      () => site.reported(at),
      (found) => found.join() === gone.join(),
    );
    await others();
    await history.compare();
    await site.start(at, versions[at] ?? 'present');
    await site.settle();
  }
  await site.areKnownToEachOther();

  const last = site.load(0, 1);
  const old = versions.indexOf('released');
  const before = history.accepted;
  await history.until(() => history.accepted > before + MISSED, 'events of both');
  expect(await site.server(old).stop('SIGTERM')).toBe(0);
  await site.start(old, 'present');
  await history.allAreThere();
  const restarted = history.accepted;
  await history.until(() => history.accepted > restarted + MISSED, 'events of both');
  await last();
}

/** What a cache channel remembers at one server is there at others. */
async function expectCached(at: TestApp, others: readonly TestApp[], name: string): Promise<void> {
  await at.trigger({ name, channel: CACHED, data: '1' });
  for (const app of others) {
    await using view = await View.open(app);
    await view.enters(CACHED);
    await view.receive(CACHED, name);
  }
}

/** Both servers answer the same to a backend, and for each other to an operator. */
async function expectSameAnswers(site: Site): Promise<void> {
  const [one, other] = await Promise.all([0, 1].map((at) => answersOf(site.app(at))));
  expect(one).toEqual(other);
  expect(one?.users).toHaveLength(2 * (STAYING + 1));
  for (const at of [0, 1]) {
    const { id } = site.app(at);
    const listed = await eventually(
      async () => (await admin(site.server(at), 'GET', `/apps/${id}/connections`)).json as Listed,
      // One that was stopped is away for a while.
      ({ servers }) => servers.filter(({ away }) => !away).length === 2,
    );
    expect(listed.connections).toHaveLength(2 * (STAYING + 1));
  }
}

interface Listed {
  readonly servers: readonly { readonly away: boolean }[];
  readonly connections: readonly object[];
}

async function answersOf(app: TestApp) {
  const ask = async (path: string, info: string) => {
    const response = await app.api('GET', path, { query: info === '' ? {} : { info } });
    return [response.status, await response.text()];
  };
  return {
    users: (await usersAt(app)).toSorted(),
    room: await ask(`/channels/${ROOM}`, 'user_count'),
    counted: await ask(`/channels/${COUNTED}`, 'subscription_count'),
    all: await ask('/channels', ''),
  };
}

/** A user who is signed in at one server is seen, reached and sent away from the other. */
async function expectUsersKnown(site: Site): Promise<void> {
  for (const at of [0, 1]) {
    const [here, there] = [site.app(at), site.app(1 - at)];
    await using watching = await View.open(there);
    await watching.signsIn('watcher', ['ann']);
    await using ann = await View.open(here);
    await ann.signsIn('ann');
    await ann.enters(ANN);
    await eventually(
      () => [...watching.online],
      (online) => online.includes('ann'),
    );
    expect((await there.post('/events', { name: 'note', channel: ANN, data: '1' })).status).toBe(
      200,
    );
    await ann.receive(ANN, 'note');
    expect((await there.post('/users/ann/terminate_connections', {})).status).toBe(200);
    await ann.client.closed;
    await eventually(
      () => [...watching.online],
      (online) => online.length === 0,
    );
    expect(watching.problems).toEqual([]);
  }
}
