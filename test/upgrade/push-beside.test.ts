import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { requestPush } from '../../testing/clients/push-requests.ts';
import { type ThrowAwayDatabase, throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import {
  allAccepted,
  DeliverySite,
  newsFor,
  type SiteInstance,
  timesOf,
} from '../failure/push/delivery-site.ts';
import { type ReleaseSource, releases, writeSource } from '../faults/releases.ts';

/** A server of the latest release and one of this version deliver from one store what only the second one understands. */

// A clone without history lacks it.
const release = await releases().then(
  (all) => all.at(-1),
  () => undefined,
);
const DEVICES = 30;
const HOUR_MS = 3_600_000;
const LONG_MS = 300_000;

let source: ReleaseSource;
let store: ThrowAwayDatabase;
let site: DeliverySite;
let instance: SiteInstance;
let released: Fanfare;

beforeAll(async () => {
  if (release === undefined) return;
  source = writeSource(release);
  store = await throwAwayPostgres();
  site = await DeliverySite.start({
    crowds: [{ web: DEVICES }],
    areTrusted: true,
    storeUrl: store.url,
    instanceSettings: { cap: { notifications: 1000, hours: 1 } },
  });
  instance = site.instance(0);
  released = await startReleased();
}, LONG_MS);
afterAll(async () => {
  await released?.[Symbol.asyncDispose]();
  await site?.[Symbol.asyncDispose]();
  await store?.[Symbol.asyncDispose]();
  source?.[Symbol.dispose]();
});

/** It refuses settings that it does not know. */
async function startReleased(): Promise<Fanfare> {
  const { directory } = site.server;
  const config = JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8'));
  for (const one of config.push.instances) delete one.cap;
  const file = join(directory, 'released.json');
  writeFileSync(file, JSON.stringify(config));
  const program = join(source.folder, 'src/main.ts');
  return await spawnFanfare(['serve', '--config', file], directory, {}, { program });
}

/** Lets a device say something of itself. */
async function say(place: number, preferences: object): Promise<void> {
  const { id } = instance.devices.web[place] ?? {};
  const { status } = await requestPush(site.server, {
    method: 'PUT',
    target: `/device_api/v1/instances/${instance.id}/devices/web/${id}/preferences`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(preferences),
  });
  expect(status).toBe(200);
}

const timeOf = (aheadMs: number) => new Date(Date.now() + aheadMs).toISOString().slice(11, 16);
const localTime = (aheadMs: number) => new Date(Date.now() + aheadMs).toISOString().slice(0, 16);

let made = 0;

/** Publishes something that no other publish says. */
async function publishAt(server: Fanfare, fields: object, web: object = {}) {
  made += 1;
  const title = `publish ${made}.`;
  const body = { ...newsFor('web'), web: { notification: { title }, ...web }, ...fields };
  const { status, json } = await requestPush(server, instance.requests.publish(body));
  expect(status).toBe(200);
  return { title, id: String(json['publishId']) };
}

/** How often each device got a publish. In other languages it has another title, but the same body. */
function timesAt(title: string): readonly number[] {
  const got = site.web.arrivals.list().filter(({ text = '' }) => text.includes(title));
  const times = timesOf(got.map(({ endpoint }) => endpoint));
  return instance.devices.web.map(({ address }) => times.get(address) ?? 0);
}

const all = Array.from({ length: DEVICES }, () => 1);

describe.skipIf(release === undefined)(
  'what only the newer of two servers knows of a publish',
  () => {
    it(
      'is lost with the older one at most, and no notification is lost or doubled',
      async () => {
        await say(0, { language: 'de', timeZone: 'Etc/GMT+1' });
        const texts = { de: { body: 'Hallo' }, 'pt-BR': { body: 'Oi' } };
        const kinds: readonly (readonly [fields: object, web?: object])[] = [
          [{ texts, urgent: true }],
          [{ urgent: true }, { urgency: 'high', topic: 'chat', app_badge: 3, declarative: true }],
          [{ sendAtLocal: localTime(-13 * HOUR_MS), urgent: true }],
        ];
        const published: { title: string; id: string }[] = [];
        for (let round = 0; round < 4; round++) {
          for (const [fields, web] of kinds) {
            for (const server of [site.server, released]) {
              published.push(await publishAt(server, fields, web));
            }
          }
        }
        for (const { id, title } of published) {
          const { platforms } = await site.finished(instance, id);
          expect(platforms.web).toEqual(allAccepted(instance.devices.web));
          expect(timesAt(title)).toEqual(all);
        }
        for (const { output } of [site.server, released]) {
          expect(output.stderr).not.toMatch(/"level":"(?:error|fatal)"/);
        }
      },
      LONG_MS,
    );

    // Device 0 is an hour behind, and device 1 has quiet hours.
    it(
      'is continued by the older one when the newer is killed, for each device that is left',
      async () => {
        // It would plan some of these, and send to everybody at once.
        expect(await released.stop('SIGTERM')).toBe(0);
        await say(1, { quietHours: { from: timeOf(-HOUR_MS), to: timeOf(HOUR_MS) } });
        const later = await publishAt(site.server, {
          sendAtLocal: localTime(-60_000),
          urgent: true,
        });
        const quiet = await publishAt(site.server, { texts: { de: { body: 'Hallo' } } });
        for (const { id, title } of [later, quiet]) {
          await site.becomes(
            instance,
            id,
            ({ platforms }) => platforms.web.accepted === DEVICES - 1,
          );
          expect(timesAt(title).toSorted()).toEqual([0, ...all.slice(1)]);
        }
        await site.server.stop('SIGKILL');
        released = await startReleased();
        // The hour is over.
        await using sql = new SQL(store.url);
        const nowMs = Date.now();
        await sql`UPDATE publish_pages SET due_at = ${nowMs}, ready_at = ${nowMs} WHERE ready_at > ${nowMs}`;
        for (const { id, title } of [later, quiet]) {
          const status = await eventually(
            () => site.status(instance, id, released),
            ({ state }) => state === 'finished',
          );
          expect(status.platforms.web).toEqual(allAccepted(instance.devices.web));
          expect(timesAt(title)).toEqual(all);
        }
        expect(released.output.stderr).not.toMatch(/"level":"(?:error|fatal)"/);
      },
      LONG_MS,
    );
  },
);
