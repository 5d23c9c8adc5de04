import { describe, expect, it } from 'bun:test';
import { eventually } from '../../testing/eventually.ts';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { appAt, type TestApp } from '../../testing/servers/test-app.ts';
import { enters, ROOM, startCluster } from './cluster.ts';
import { View } from './view.ts';

/** All subscribers of a channel see its events and the changes of its members in one order, whatever they are connected to. */

const WATCHERS = 6;
const GUESTS = ['ann', 'bob', 'eve'];
const VISITS = 30;

/** Opens a member of the room that notes what it receives: names of events, and members as `+ann` and `-ann`. */
async function openWatcher(app: TestApp, userId: string) {
  const client = await app.connect();
  await enters(app, client, userId);
  const seen: string[] = [];
  client.handOver((text) => {
    const { event, data } = JSON.parse(text);
    if (event === 'pusher_internal:member_added') seen.push(`+${JSON.parse(data).user_id}`);
    else if (event === 'pusher_internal:member_removed') seen.push(`-${JSON.parse(data).user_id}`);
    else if (!event.startsWith('pusher:')) seen.push(event);
  });
  return { seen, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** Guests come and go at all servers, while each server gets triggers. Returns what each watcher saw from a moment on. */
async function watchGuests(apps: readonly TestApp[], nameOf: (guest: number) => string) {
  await using parts = new AsyncDisposableStack();
  const appOf = (n: number) => apps[n % apps.length] as TestApp;
  const watchers: string[][] = [];
  for (let n = 0; n < WATCHERS; n++) {
    watchers.push(parts.use(await openWatcher(appOf(n), `watcher-${n}`)).seen);
  }
  await appOf(0).trigger({ name: 'begin', channel: ROOM, data: 'x' });
  let guests = 0;
  let isEnough = false;
  const visit = async (n: number) => {
    const view = parts.use(await View.open(appOf(n)));
    for (let visits = 0; visits < VISITS; visits++) {
      await view.enters(ROOM, nameOf(guests++));
      view.leave(ROOM);
    }
  };
  const triggering = [0, 1, 2].map(async (n) => {
    for (let number = 0; !isEnough; number++) {
      await appOf(n).trigger({ name: `event-${n}-${number}`, channel: ROOM, data: 'x' });
    }
  });
  await Promise.all([0, 1, 2].map(visit));
  isEnough = true;
  await Promise.all(triggering);
  const found = () => watchers.map((seen) => seen.slice(seen.indexOf('begin')));
  // The last changes of guests who came and went too often are told within a second.
  return await eventually(found, (all) =>
    all.every((seen) => isOver(seen) && seen.length === all[0]?.length),
  );
}

/** Whether all guests who came have gone. */
function isOver(seen: readonly string[]): boolean {
  const guests = new Set(seen.filter((one) => one.startsWith('+')).map((one) => one.slice(1)));
  return [...guests].every((one) => seen.lastIndexOf(`-${one}`) > seen.lastIndexOf(`+${one}`));
}

function expectOneOrder(seen: readonly (readonly string[])[]): void {
  const [first = []] = seen;
  expect(first.filter((one) => one.startsWith('-')).length).toBeGreaterThan(GUESTS.length);
  for (const one of seen) expect(one).toEqual(first);
}

describe.each<
  [of: string, open: () => Promise<AsyncDisposable & { readonly apps: readonly TestApp[] }>]
>([
  ['three servers', () => startCluster(3)],
  ['three threads', () => openOne(3)],
  ['one loop', () => openOne(1)],
])('subscribers of %s', (_, open) => {
  it('see one order of events and of guests who come and go', async () => {
    await using site = await open();
    expectOneOrder(await watchGuests(site.apps, (guest) => `guest-${guest}`));
    // These come and go more often than everybody is told.
    expectOneOrder(await watchGuests(site.apps, (guest) => String(GUESTS[guest % GUESTS.length])));
  });
});

async function openOne(threads: number) {
  const server = await startFanfare({ threads });
  return Object.assign(server, { apps: [appAt(server)] });
}
