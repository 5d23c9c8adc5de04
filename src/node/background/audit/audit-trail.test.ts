import { describe, expect, it } from 'bun:test';
import type { Operation } from '../../../admin/operation.ts';
import { operations } from '../../../admin/operations.ts';
import { PathValues } from '../../../admin/path-values.ts';
import { LOCAL, NOBODY, OWNER } from '../../../runtime/caller.ts';
import type { AuditEntry, AuditRoom } from '../../../stores/admin/audit-store.ts';
import { keptLog } from '../../../webhooks/webhooks.fixture.ts';
import { AuditTrail } from './audit-trail.ts';

const ALICE = { how: 'proxy', user: 'alice', groups: [] } as const;

type Call = Parameters<AuditTrail['note']>[1]['call'];

/** `before`: what an earlier process has written. */
function trailWith(before: readonly AuditEntry[] = []) {
  const clock = { nowMs: 1000, now: () => clock.nowMs };
  const added: AuditEntry[] = [];
  const trimmed: AuditRoom[] = [];
  const log = keptLog();
  const store = {
    fault: undefined as Error | undefined,
    async add(entry: AuditEntry) {
      if (store.fault !== undefined) throw store.fault;
      added.push(entry);
    },
    async trim(room: AuditRoom) {
      trimmed.push(room);
    },
    list: async () => before,
  };
  const trail = new AuditTrail({ store, log, clock });
  return {
    started: trail.settled(),
    clock,
    store,
    log,
    trimmed,
    /** Notes a call, and returns what was written. */
    async note(
      id: string,
      {
        path = {},
        ...given
      }: Partial<Omit<Call, 'path'>> & { readonly path?: Readonly<Record<string, string>> } = {},
      { status = 200, subject }: { status?: number; subject?: string } = {},
    ) {
      const call = {
        caller: OWNER,
        sender: { address: '192.0.2.1', key: '', throughUnknownProxy: false },
        path: new PathValues(operationOf(id).path, path),
        query: {},
        body: undefined,
        ...given,
      };
      if (status >= 400) trail.noteRefused(operationOf(id), { call, status, subject });
      else trail.note(operationOf(id), { call, status, answer: { id: 'made', key: 'k' } });
      await trail.settled();
      return added.splice(0);
    },
  };
}

function operationOf(id: string): Operation {
  const found = operations.find((one) => one.id === id);
  if (found === undefined) throw new Error(`There is no operation ${id}`);
  return found;
}

describe('the audit trail', () => {
  it('notes who changed what, without values', async () => {
    const { note } = trailWith();
    const body = { name: 'shop', limits: { connections: 5 } };
    expect(await note('changeApp', { caller: ALICE, path: { id: '7' }, body })).toEqual([
      {
        id: expect.stringMatching(/^[\da-f-]{36}$/),
        firstAtMs: 1000,
        lastAtMs: 1000,
        times: 1,
        user: 'alice',
        how: 'proxy',
        address: '192.0.2.1',
        operation: 'changeApp',
        subject: '7',
        detail: 'name, limits',
        status: 200,
      },
    ]);
    expect(await note('createApp', { body: {} })).toMatchObject([{ user: '', subject: 'made' }]);
    // The path may hold a whole secret key.
    const removed = await note('removeSecretKey', { path: { id: 'i', key: 'SECRET' } });
    expect(JSON.stringify(removed)).not.toContain('SECRET');
  });

  it('keeps the order of its entries when the clock is set back, before the start or later', async () => {
    const first = trailWith();
    const [before] = await first.note('changeApp', { path: { id: '1' } });
    first.clock.nowMs = 0;
    const [after] = await first.note('changeApp', { path: { id: '2' } });
    expect((after?.id ?? '') > (before?.id ?? '')).toBe(true);

    const again = trailWith(after === undefined ? [] : [after]);
    await again.started;
    again.clock.nowMs = 0;
    const [last] = await again.note('changeApp', { path: { id: '3' } });
    expect((last?.id ?? '') > (after?.id ?? '')).toBe(true);
  });

  it('notes log-ins and secrets that were shown, and nothing else that is only read', async () => {
    const { note } = trailWith();
    expect(await note('logIn', { caller: NOBODY, body: { password: 'p' } })).toMatchObject([
      { operation: 'logIn', how: 'password', detail: '' },
    ]);
    expect(await note('logIn', { caller: NOBODY }, { status: 401 })).toEqual([]);
    expect(await note('logOut', { caller: NOBODY })).toEqual([]);
    expect(await note('getApp', { caller: LOCAL, path: { id: '7' } })).toEqual([]);
    expect(await note('checkAuth', { path: { id: '7' }, body: {} })).toEqual([]);
    const secrets = { path: { id: '7' }, query: { secrets: 'true' } };
    expect(await note('getApp', secrets)).toMatchObject([{ detail: 'secrets', subject: '7' }]);
  });

  it('notes what was refused, without text that the caller made up', async () => {
    const { note } = trailWith();
    const given = { caller: ALICE, path: { id: 'made-up' }, body: { 'made-up': 1 } };
    const [refused] = await note('changeApp', given, { status: 404 });
    expect(refused).toMatchObject({ status: 404, user: 'alice', subject: '', detail: '' });
    const other = { ...given, path: { id: 'another' } };
    expect(await note('changeApp', other, { status: 404 })).toMatchObject([{ id: refused?.id }]);
    expect(await note('deleteApp', given, { status: 403, subject: '7' })).toMatchObject([
      { subject: '7' },
    ]);
  });

  it('goes on counting what is repeated while much else is refused', async () => {
    const { note } = trailWith();
    const [first] = await note('sendEvent', { path: { id: '7' } });
    for (let n = 0; n < 200; n++) await note('deleteApp', {}, { status: 404, subject: String(n) });
    expect(await note('sendEvent', { path: { id: '7' } })).toMatchObject([{ id: first?.id }]);
  });

  it('counts the same within a minute in one entry', async () => {
    const { note, clock } = trailWith();
    const [first] = await note('sendEvent', { path: { id: '7' } });
    clock.nowMs += 59_999;
    expect(await note('sendEvent', { path: { id: '7' } })).toEqual([
      { ...first, lastAtMs: clock.nowMs } as AuditEntry,
    ]);
    for (const change of [{ path: { id: '8' } }, { path: { id: '7' }, caller: ALICE }]) {
      const [other] = await note('sendEvent', change);
      expect(other?.id).not.toBe(first?.id ?? '');
    }
    clock.nowMs += 1;
    const [later] = await note('sendEvent', { path: { id: '7' } });
    expect(later?.id).not.toBe(first?.id ?? '');
  });

  it('keeps texts short and printable', async () => {
    const { note } = trailWith();
    const caller = { ...ALICE, user: `a\u001b${'x'.repeat(10_000)}` };
    const [entry] = await note('deleteApp', { caller, path: { id: 'y'.repeat(10_000) } });
    expect([entry?.user.length, entry?.subject.length]).toEqual([200, 200]);
    expect(entry?.user).not.toContain('\u001b');
  });

  it('removes old entries at the start, and then after every hundred', async () => {
    const { note, trimmed } = trailWith();
    for (let n = 0; n < 202; n++) await note('deleteApp', { path: { id: String(n) } });
    const room = { done: 10_000, refused: 500 };
    expect(trimmed).toEqual([room, room]);
  });

  it('logs once a minute that it cannot write', async () => {
    const { note, store, log } = trailWith();
    store.fault = new Error('disk full');
    await note('deleteApp', { path: { id: '1' } });
    await note('deleteApp', { path: { id: '2' } });
    expect(log.lines).toEqual([
      'warn Audit entry cannot be written {"operation":"deleteApp","why":"disk full"}',
    ]);
    store.fault = undefined;
    expect(await note('deleteApp', { path: { id: '3' } })).toHaveLength(1);
  });
});
