import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import {
  REVOCATIONS_MAX,
  type Revocation,
  type Revoked,
} from '../../../src/channels/grants/revocations.ts';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { AppStore } from '../../../src/stores/tenants/app-store.ts';
import { RevocationStore } from '../../../src/stores/tenants/revocation-store.ts';
import { databases, type EmptyStore } from '../../../testing/databases/databases.ts';

/** Source: identity, §3.6. */

const NOW = 1_700_000_000;
const KEPT_SINCE_MS = 1;

function revocation(
  kind: Revoked['kind'],
  name: string,
  more: Partial<Revocation> = {},
): Revocation {
  return { appId: 'app', kind, name, issuedBefore: NOW, revokedAtMs: NOW * 1000, ...more };
}

const shown = (all: readonly Revocation[]) => all.map(({ kind, name }) => `${kind} ${name}`);

for (const { name, make } of databases) {
  describe(`RevocationStore on ${name}`, () => {
    let empty: EmptyStore;
    let database: Database;
    let store: RevocationStore;
    beforeEach(async () => {
      empty = await make();
      database = await openDatabase(empty.url);
      store = new RevocationStore(database);
    });
    afterEach(async () => {
      await database[Symbol.asyncDispose]();
      await empty[Symbol.asyncDispose]();
    });

    const add = (one: Revocation, keptSinceMs = KEPT_SINCE_MS) => store.add(one, keptSinceMs);
    const page = (limit = 10, after?: Revoked) =>
      store.page('app', { limit, after }, KEPT_SINCE_MS);

    /** Fills the app up to its limit, faster than by requests. */
    async function fill(revokedAtMs = NOW * 1000): Promise<void> {
      await database.write(
        (sql) => sql`INSERT INTO revocations (app_id, kind, name, issued_before, revoked_at, number)
          WITH RECURSIVE counted (n) AS (
            SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n < ${REVOCATIONS_MAX - 1})
          SELECT 'app', 'user', 'name-' || n, CAST(${NOW} AS BIGINT), CAST(${revokedAtMs} AS BIGINT), 0
          FROM counted`,
      );
    }

    it('gives back what was added, and only what is new', async () => {
      const odd = revocation('token', 'ä€𝄞 \u2028 \' " \\ $1');
      await Promise.all([add(revocation('user', 'ann')), add(odd)]);
      const first = (await store.revisions()).revocations;
      expect((await store.addedAfter(0)).toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toEqual([
        odd,
        revocation('user', 'ann'),
      ]);
      await add(revocation('user', 'bob', { appId: 'other' }));
      expect(shown(await store.addedAfter(first))).toEqual(['user bob']);
      const second = (await store.revisions()).revocations;
      expect(second).toBeGreaterThan(first);
      expect(await store.addedAfter(second)).toEqual([]);
      expect(shown(await store.ofApps(['other', 'none']))).toEqual(['user bob']);
    });

    it('keeps the later of two of the same, and tells it again', async () => {
      await add(revocation('user', 'ann'));
      const { revocations } = await store.revisions();
      const earlier = { issuedBefore: NOW - 50, revokedAtMs: NOW * 1000 + 7 };
      await add(revocation('user', 'ann', earlier));
      const kept = { ...revocation('user', 'ann'), revokedAtMs: NOW * 1000 + 7 };
      expect(await store.addedAfter(revocations)).toEqual([kept]);
      await add(revocation('user', 'ann', { issuedBefore: NOW + 50, revokedAtMs: 2 }));
      expect(await page()).toEqual([{ ...kept, issuedBefore: NOW + 50 }]);
    });

    it('deletes what one of all covers', async () => {
      await add(revocation('user', 'old'));
      await add(revocation('user', 'new', { issuedBefore: NOW + 1 }));
      await add(revocation('token', 'old', { issuedBefore: NOW - 300 }));
      await add(revocation('token', 'new', { issuedBefore: NOW - 299 }));
      await add(revocation('user', 'ann', { appId: 'other' }));
      await add(revocation('all', ''));
      expect(shown(await page())).toEqual(['all ', 'token new', 'user new']);
      expect(shown(await store.ofApps(['other']))).toEqual(['user ann']);
    });

    it('refuses more than the limit, but for repeated ones and that of all', async () => {
      await fill();
      expect(await add(revocation('token', 'one-more'))).toBe('too-many');
      expect(await add(revocation('user', 'name-7', { issuedBefore: NOW + 1 }))).toBe('added');
      expect(await add(revocation('user', 'ann', { appId: 'other' }))).toBe('added');
      expect(await add(revocation('all', ''))).toBe('added');
      expect(await add(revocation('token', 'one-more'))).toBe('added');
      expect(shown(await page())).toEqual(['all ', 'token one-more', 'user name-7']);
    });

    it('lets one of several in a commit take the last place', async () => {
      await fill();
      await database.write((sql) => sql`DELETE FROM revocations WHERE name = 'name-7'`);
      const results = await Promise.all(['a', 'b', 'c'].map((id) => add(revocation('token', id))));
      expect(results.toSorted()).toEqual(['added', 'too-many', 'too-many']);
    });

    it('makes room by forgetting what is over', async () => {
      await fill(5);
      expect(await add(revocation('token', 'new'), 6)).toBe('added');
      expect(shown(await page())).toEqual(['token new']);
    });

    it('forgets what is older, of all apps', async () => {
      await fill(5);
      await add(revocation('user', 'new', { appId: 'other', revokedAtMs: 6 }));
      let pieces = 1;
      while (await store.forgetSomeBefore(6)) pieces++;
      expect(pieces).toBeGreaterThan(10);
      expect(shown(await store.ofApps(['app', 'other']))).toEqual(['user new']);
    });

    it('gives them in pages', async () => {
      for (const id of ['a', 'b', 'c']) await add(revocation('user', id));
      await add(revocation('token', 'z'));
      await add(revocation('user', 'over', { revokedAtMs: 0 }));
      const first = await page(2);
      expect(shown(first)).toEqual(['token z', 'user a']);
      expect(shown(await page(2, first[1]))).toEqual(['user b', 'user c']);
      expect(await page(2, revocation('user', 'c'))).toEqual([]);
    });

    it('deletes those of a deleted app', async () => {
      const apps = new AppStore(database);
      const app = { id: 'app', name: '', enabled: true, keys: [], settings: {} };
      await apps.create(app, 1);
      await add(revocation('user', 'ann'));
      await apps.delete('app');
      expect(await page()).toEqual([]);
      // A server that did not know of the deletion yet.
      await add(revocation('user', 'ann'));
      await apps.create(app, 2);
      expect(await page()).toEqual([]);
    });
  });
}
