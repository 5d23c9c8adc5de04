import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { StoredCertificates } from '../../src/stores/certificates/certificate-store.ts';
import { type Database, openDatabase } from '../../src/stores/database/database.ts';
import { databases, type EmptyStore } from '../../testing/databases/databases.ts';
import { MemoryCertificates } from '../../testing/memory-stores/certificates.ts';

const plan = {
  subject: 'https://authority.test/directory a.example.test',
  ordersAtMs: [1_000],
  failures: 1,
  nextAtMs: 2_000,
  notBeforeMs: 0,
  problem: '',
};
const account = { directory: 'd', email: 'e', url: 'https://authority.test/account/1', key: 'k' };
const certificate = { subject: plan.subject, cert: 'c', key: 'k' };
const claim = { server: 'one', nowMs: 1_000, untilMs: 9_000, plan };

interface Opened {
  readonly certificates: MemoryCertificates | StoredCertificates;
  readonly database?: Database;
  readonly store?: EmptyStore;
}

const kinds: readonly { readonly name: string; open(): Promise<Opened> }[] = [
  { name: 'in memory', open: async () => ({ certificates: new MemoryCertificates() }) },
  ...databases.map(({ name, make }) => ({
    name: `on ${name}`,
    async open() {
      const store = await make();
      const database = await openDatabase(store.url);
      return { certificates: new StoredCertificates(database), database, store };
    },
  })),
];

for (const { name, open } of kinds) {
  describe(`certificates ${name}`, () => {
    let certificates: Opened['certificates'];
    let opened: Opened;
    beforeEach(async () => {
      opened = await open();
      certificates = opened.certificates;
    });
    afterEach(async () => {
      await opened.database?.[Symbol.asyncDispose]();
      await opened.store?.[Symbol.asyncDispose]();
    });

    it('keep what they are given, and each change has a revision', async () => {
      await certificates.claim({ ...claim, revision: await certificates.revision() });
      const revisions = [await certificates.revision()];
      expect(await certificates.read()).toEqual({
        account: undefined,
        certificate: undefined,
        plan,
        challenges: new Map(),
      });
      await certificates.keepAccount(account);
      revisions.push(await certificates.revision());
      await certificates.offer(new Map([['token', 'answer']]));
      revisions.push(await certificates.revision());
      expect((await certificates.read()).challenges).toEqual(new Map([['token', 'answer']]));
      await certificates.end({ server: 'one', plan, certificate });
      revisions.push(await certificates.revision());
      expect(await certificates.read()).toEqual({
        account,
        certificate,
        plan,
        challenges: new Map(),
      });
      expect(new Set(revisions).size).toBe(4);
    });

    it('are ordered by one server, until its lease ends or it releases it', async () => {
      const claimed = async (server: string, nowMs: number) =>
        certificates.claim({
          ...claim,
          server,
          nowMs,
          untilMs: nowMs + 8_000,
          revision: await certificates.revision(),
        });
      expect(await claimed('one', 1_000)).toBe(true);
      expect((await certificates.read()).plan).toEqual(plan);
      expect(await claimed('two', 2_000)).toBe(false);
      expect(await claimed('two', 9_000)).toBe(true);
      // Its lease is over.
      const other = { ...plan, problem: 'late' };
      await certificates.end({ server: 'one', plan: other, certificate });
      expect(await certificates.read()).toMatchObject({ plan, certificate: undefined });
      expect(await claimed('one', 9_500)).toBe(false);
      await certificates.end({ server: 'two', plan, certificate: undefined });
      expect(await claimed('one', 90_000)).toBe(true);
      // The clock was set back.
      expect(await claimed('two', 9_600)).toBe(true);
    });

    it('cannot be claimed by a server that does not know of a change', async () => {
      await certificates.claim({ ...claim, revision: await certificates.revision() });
      const revision = await certificates.revision();
      await certificates.end({ server: 'one', plan, certificate });
      expect(await certificates.claim({ ...claim, revision })).toBe(false);
      const now = await certificates.revision();
      expect(await certificates.claim({ ...claim, server: 'three', revision: now })).toBe(true);
    });

    it('are claimed by one of several servers that try at the same moment', async () => {
      const revision = await certificates.revision();
      const tries = Array.from({ length: 8 }, (_, number) =>
        certificates.claim({ ...claim, server: `server ${number}`, revision }),
      );
      expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1);
    });
  });
}
