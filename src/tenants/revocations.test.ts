import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import type { Revocation, Revoked } from '../channels/grants/revocations.ts';
import { type Database, openDatabase } from '../stores/database/database.ts';
import { RevocationStore } from '../stores/tenants/revocation-store.ts';
import { LiveRevocations, type RevocationChange } from './revocations.ts';

/** Source: identity, §3.6. */

let database: Database;
let store: RevocationStore;
let clock: FakeTime;
let warnings: string[];
beforeEach(async () => {
  database = await openDatabase('sqlite::memory:');
  store = new RevocationStore(database);
  clock = new FakeTime({ turns: 20 });
  warnings = [];
});
afterEach(() => database[Symbol.asyncDispose]());

function opened(from: RevocationStore = store) {
  const none = () => undefined;
  const log = {
    debug: none,
    info: none,
    error: none,
    warn: (text: string) => void warnings.push(text),
  };
  const live = new LiveRevocations({ store: from, timers: clock, monotonic: clock.monotonic, log });
  const changes: RevocationChange[] = [];
  live.follow((change) => void changes.push(change));
  return { live, changes };
}

function revocation(
  kind: Revoked['kind'],
  name: string,
  more: Partial<Revocation> = {},
): Revocation {
  const revokedAtMs = clock.now();
  const issuedBefore = Math.floor(revokedAtMs / 1000);
  return { appId: 'app', kind, name, issuedBefore, revokedAtMs, ...more };
}

const ann = () => revocation('user', 'ann');
const all = (live: LiveRevocations) => [...live.known.all()];

describe('the revocations of a server', () => {
  it('are reported before a request for one is answered', async () => {
    const { live, changes } = opened();
    expect(await live.revoke(ann())).toBe('revoked');
    expect(changes).toEqual([{ forgotten: [], added: [ann()] }]);
    expect(all(live)).toEqual([ann()]);
    // It is read once.
    await live.revisionOfApps();
    expect(changes).toHaveLength(1);
  });

  it('are those of other servers too, when the revision of apps is asked', async () => {
    const [here, there] = [opened(), opened()];
    await there.live.revoke(ann());
    expect(all(here.live)).toEqual([]);
    const before = (await store.revisions()).apps;
    expect(await here.live.revisionOfApps()).toBe(before);
    expect(all(here.live)).toEqual([ann()]);
    await there.live.revoke(revocation('token', 'id'));
    await here.live.revisionOfApps();
    expect(here.changes.map(({ added }) => added.length)).toEqual([1, 1]);
  });

  it('are those of earlier starts', async () => {
    await opened().live.revoke(ann());
    const { live } = opened();
    await live.revisionOfApps();
    expect(all(live)).toEqual([ann()]);
  });

  it('hold while the store cannot be read, and when an older copy is put in its place', async () => {
    const { live, changes } = opened();
    await live.revoke(ann());
    await live.revoke(revocation('user', 'bob'));
    await database.write((sql) => sql`DELETE FROM revocations`);
    await database.write(
      (sql) => sql`UPDATE revisions SET revision = 0 WHERE what = 'revocations'`,
    );
    await live.revisionOfApps();
    expect(all(live)).toHaveLength(2);
    await live.revoke(revocation('user', 'carl'));
    expect(all(live)).toHaveLength(3);
    expect(changes.at(-1)?.added).toEqual([revocation('user', 'carl')]);
    await database.write((sql) => sql`DROP TABLE revisions`);
    expect(live.revisionOfApps()).rejects.toThrow();
    expect(live.revoke(ann())).rejects.toThrow();
    expect(all(live)).toHaveLength(3);
  });

  it('of deleted apps are forgotten, but not those of an app that has the id since', async () => {
    const { live, changes } = opened();
    await live.revoke(ann());
    await live.revoke(revocation('user', 'ann', { appId: 'other' }));
    await database.write((sql) => sql`DELETE FROM revocations WHERE app_id = 'app'`);
    await live.revoke(revocation('user', 'new'));
    await live.appsDeleted(['app']);
    expect(changes.at(-1)).toEqual({ forgotten: ['app'], added: [revocation('user', 'new')] });
    expect(all(live).map(({ appId, name }) => `${appId} ${name}`)).toEqual([
      'other ann',
      'app new',
    ]);
    await database.write((sql) => sql`DROP TABLE revocations`);
    await live.appsDeleted(['app']);
    expect(warnings).toEqual(['Revocations of deleted apps are still known']);
    expect(all(live)).toHaveLength(2);
  });

  it('are deleted from the store when they are over, but not by a clock that was set forward', async () => {
    const { live } = opened();
    const before = (days: number) => ({ revokedAtMs: clock.now() - days * 86_400_000 });
    await live.revoke(revocation('user', 'new', before(30)));
    await live.revoke(revocation('user', 'old', before(32)));
    // Settles behind the changes of the clean-up.
    const left = async () => {
      await clock.advance(3_600_000);
      await database.write(() => undefined);
      return (await store.ofApps(['app'])).map(({ name }) => name);
    };
    expect(await left()).toEqual(['new']);
    clock.setClock(40 * 86_400_000);
    expect(await left()).toEqual(['new']);
  });
});
