import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import type {
  ClaimedRequest,
  NewOutboxRequest,
  Outbox,
  OutboxLog,
  Settlement,
  WebhookAttempt,
} from '../../../src/webhooks/outbox.ts';

export interface OutboxPorts {
  readonly outbox: Outbox;
  /** Another server's, on the same store; the same one where only one server may use a store. */
  readonly other: Outbox;
  readonly log: OutboxLog;
}

/** A request to one endpoint; ids sort by their number. */
export function outboxRequest(
  number: number,
  more: Partial<NewOutboxRequest> = {},
): NewOutboxRequest {
  return {
    id: `id-${String(number).padStart(6, '0')}`,
    kind: 'channels',
    ownerId: 'app',
    url: 'https://hooks.example.test/',
    endpoint: 'one',
    events: 'member_added ×2',
    body: '{"a":1}',
    bodyBytes: 7,
    createdAtMs: 1_000 + number,
    afterId: undefined,
    ...more,
  };
}

const attempt: WebhookAttempt = {
  number: 1,
  atMs: 2_000,
  durationMs: 30,
  outcome: 'refused',
  status: 500,
  answer: 'broken',
};

/** As its first claimant sees it. */
const claimedFirst = (request: NewOutboxRequest): ClaimedRequest => ({
  ...request,
  attempts: 0,
  tries: 0,
  firstTryAtMs: undefined,
  claimedUntilMs: 9_000,
});
const retried = (request: NewOutboxRequest, atMs: number): Settlement => ({
  request: claimedFirst(request),
  attempt,
  next: { state: 'waiting', atMs },
});
const failed = (request: NewOutboxRequest, atMs: number): Settlement => ({
  request: claimedFirst(request),
  attempt,
  next: { state: 'failed', atMs, reason: 'HTTP 500' },
});

/** What the sender expects of any outbox. `open` returns an empty one, and what closes it. */
export function outboxContract(
  name: string,
  open: () => Promise<OutboxPorts & { readonly close: () => Promise<void> }>,
): void {
  describe(`${name} keeps the outbox contract`, () => {
    let ports: Awaited<ReturnType<typeof open>>;
    const [first, second, other] = [
      outboxRequest(1),
      outboxRequest(2),
      outboxRequest(3, { endpoint: 'two', ownerId: 'app-2', url: 'https://two.example.test/' }),
    ];
    beforeEach(async () => {
      ports = await open();
      await ports.outbox.write([first, second, other], []);
    });
    afterEach(() => ports.close());

    const claim = (endpoint: string, limit: number, nowMs: number, untilMs: number) =>
      ports.outbox.claim({ wanted: [{ endpoint, limit }], nowMs, untilMs });

    it('claims a request for one caller until the claim expires', async () => {
      const [mine] = await claim('one', 1, 2_000, 9_000);
      expect(mine?.requests).toMatchObject([
        { id: first.id, attempts: 0, tries: 0, firstTryAtMs: undefined, claimedUntilMs: 9_000 },
      ]);
      expect(mine?.dueAtMs).toBe(2_000);
      const [theirs] = await claim('one', 5, 2_000, 9_500);
      expect(theirs?.requests.map(({ id }) => id)).toEqual([second.id]);
      expect(theirs?.dueAtMs).toBe(9_000);
      expect((await claim('one', 5, 8_999, 20_000))[0]?.requests).toEqual([]);
      expect((await claim('one', 5, 9_000, 20_000))[0]?.requests).toMatchObject([{ id: first.id }]);
    });

    /** A request of events that may be reported again; each is a letter of its body, and its id. */
    const repeatable = (
      number: number,
      events: string,
      more: Partial<NewOutboxRequest> = {},
    ): NewOutboxRequest =>
      outboxRequest(number, {
        ...more,
        body: events,
        repeatable: {
          ids: [...events],
          without: (known) => {
            const left = [...events].filter((id) => !known.has(id)).join('');
            return left === '' ? undefined : repeatable(number, left, more);
          },
        },
      });
    const bodies = async (...numbers: readonly number[]) =>
      await Promise.all(numbers.map((n) => ports.outbox.body(outboxRequest(n).id)));

    it('keeps an event once that several servers report, for each endpoint', async () => {
      const two = { endpoint: 'two' };
      await ports.outbox.write([repeatable(11, 'ab'), repeatable(12, 'ab', two)], []);
      // The same commit, after its answer was lost.
      await ports.outbox.write([repeatable(11, 'ab'), repeatable(12, 'ab', two)], []);
      await ports.other.write([repeatable(13, 'abc'), repeatable(14, 'b', two)], []);
      expect(await bodies(11, 12, 13, 14)).toEqual(['ab', 'ab', 'c', undefined]);
    });

    it('keeps an event once when two servers report it at the same moment', async () => {
      const letters = [...'abcdefgh'];
      await Promise.all(
        letters.flatMap((_, n) => [
          ports.outbox.write([repeatable(20 + n, letters.join(''))], []),
          ports.other.write([repeatable(40 + n, letters.toReversed().join(''))], []),
        ]),
      );
      const kept = await bodies(...letters.flatMap((_, n) => [20 + n, 40 + n]));
      expect([...kept.join('')].toSorted()).toEqual(letters);
    });

    it('remembers an event for as long as requested', async () => {
      await ports.outbox.write(
        [repeatable(11, 'a'), repeatable(12, 'b', { createdAtMs: 5_000 })],
        [],
      );
      await ports.other.forgetEventIds(5_000);
      await ports.outbox.write([repeatable(13, 'ab')], []);
      expect(await bodies(11, 12, 13)).toEqual(['a', 'b', 'a']);
    });

    it('never claims a request twice, with many concurrent callers', async () => {
      const many = Array.from({ length: 100 }, (_, index) => outboxRequest(100 + index));
      await ports.outbox.write(many, []);
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, index) => {
          const by = index % 2 === 0 ? ports.outbox : ports.other;
          return by.claim({
            wanted: [{ endpoint: 'one', limit: 7 }],
            nowMs: 5_000,
            untilMs: 9_000 + index,
          });
        }),
      );
      const ids = claims.flatMap(([one]) => one?.requests.map(({ id }) => id) ?? []);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toHaveLength(102);
    });

    it('claims due requests of each endpoint, the earliest first', async () => {
      await ports.outbox.write([], [retried(first, 5_000)]);
      const claims = await ports.outbox.claim({
        wanted: [
          { endpoint: 'one', limit: 5 },
          { endpoint: 'two', limit: 5 },
          { endpoint: 'none', limit: 5 },
        ],
        nowMs: 2_000,
        untilMs: 9_000,
      });
      expect(claims.map(({ requests }) => requests.map(({ id }) => id))).toEqual([
        [second.id],
        [other.id],
        [],
      ]);
      expect(claims.map(({ dueAtMs }) => dueAtMs)).toEqual([5_000, undefined, undefined]);
    });

    it('releases all claims', async () => {
      await claim('one', 5, 2_000, 9_000);
      await ports.outbox.releaseAllClaims();
      expect((await claim('one', 5, 2_000, 9_000))[0]?.requests).toHaveLength(2);
    });

    it('records the attempts of a request that waits again', async () => {
      await ports.outbox.write([], [retried(first, 5_000)]);
      expect((await claim('one', 1, 5_000, 9_000))[0]?.requests).toMatchObject([{ id: second.id }]);
      expect((await claim('one', 1, 5_000, 9_000))[0]?.requests).toMatchObject([
        { id: first.id, attempts: 1, tries: 1, firstTryAtMs: 2_000 },
      ]);
      expect(await ports.log.show(first.id)).toMatchObject({
        state: 'waiting',
        nextAttemptAtMs: 5_000,
        finishedAtMs: undefined,
        body: '{"a":1}',
        attemptLog: [attempt],
      });
    });

    it('does all of a write or nothing', async () => {
      // What no store can keep, as the type says.
      const impossible = { ...outboxRequest(10), body: null as unknown as string };
      await expect(ports.outbox.write([outboxRequest(9), impossible], [])).rejects.toThrow();
      expect(await ports.log.show('id-000009')).toBeUndefined();
    });

    it('ignores a request that it has already', async () => {
      await ports.outbox.write([], [failed(first, 3_000)]);
      await ports.outbox.write([first, outboxRequest(9)], []);
      expect(await ports.log.show(first.id)).toMatchObject({ state: 'failed' });
      expect(await ports.log.show('id-000009')).toMatchObject({ state: 'waiting' });
    });

    it('releases claimed requests that were not sent', async () => {
      await claim('one', 1, 2_000, 9_000);
      await ports.outbox.write([], [{ ...retried(first, 2_500), attempt: undefined }]);
      expect((await claim('one', 5, 2_500, 9_000))[0]?.requests).toMatchObject(
        [
          { id: second.id, attempts: 0 },
          { id: first.id, attempts: 0, tries: 0, firstTryAtMs: undefined },
        ].toReversed(),
      );
    });

    it('releases nothing that another server has claimed since', async () => {
      await claim('one', 5, 2_000, 9_000);
      await claim('one', 5, 9_000, 20_000);
      const late = { request: claimedFirst(second), attempt: undefined };
      await ports.outbox.write(
        [],
        [
          retried(first, 9_500),
          { ...late, next: { state: 'waiting', atMs: 9_500 } },
          // The server that has it now finds it finished.
          { ...failed(other, 9_500), attempt: undefined },
        ],
      );
      expect((await claim('one', 5, 19_999, 30_000))[0]?.requests).toEqual([]);
      expect((await claim('one', 5, 20_000, 30_000))[0]?.requests).toMatchObject([
        { id: first.id, attempts: 1, tries: 1 },
        { id: second.id, attempts: 0, tries: 0 },
      ]);
      await ports.outbox.write([], [retried(second, 60_000)]);
      await ports.outbox.write([], [{ ...late, next: { state: 'waiting', atMs: 9_500 } }]);
      expect(await ports.log.show(second.id)).toMatchObject({ nextAttemptAtMs: 60_000 });
      expect(await ports.log.show(other.id)).toMatchObject({ state: 'failed' });
    });

    it('counts an attempt once, even if it is written twice after a lost answer', async () => {
      await claim('one', 1, 2_000, 9_000);
      await ports.outbox.write([], [retried(first, 5_000)]);
      await ports.outbox.write([], [retried(first, 5_000)]);
      expect((await claim('one', 5, 5_000, 9_500))[0]?.requests).toMatchObject([
        { id: first.id, attempts: 1, tries: 1 },
        { id: second.id, attempts: 0, tries: 0 },
      ]);
      expect(await ports.log.show(first.id)).toMatchObject({ attempts: 1, attemptLog: [attempt] });
    });

    it('releases a claim whose answer was lost, and no other', async () => {
      await claim('one', 1, 2_000, 9_000);
      await claim('one', 1, 2_000, 9_001);
      await claim('two', 1, 2_000, 9_000);
      await ports.outbox.write([], [failed(outboxRequest(1), 3_000)]);
      await ports.outbox.write([outboxRequest(4)], []);
      await claim('one', 1, 2_000, 9_000);
      await ports.outbox.releaseClaim(['one', 'none'], 9_000);
      const claims = await ports.outbox.claim({
        wanted: ['one', 'two', 'none'].map((endpoint) => ({ endpoint, limit: 5 })),
        nowMs: 2_000,
        untilMs: 9_500,
      });
      expect(claims.map(({ requests }) => requests.map(({ id }) => id))).toEqual([
        ['id-000004'],
        [],
        [],
      ]);
      expect(await ports.log.show(first.id)).toMatchObject({ state: 'failed' });
    });

    it('blocks a request until the one before it is over, for all servers', async () => {
      const start = { ...first, kind: 'publish' } as const;
      const end = outboxRequest(4, { afterId: first.id });
      const next = outboxRequest(5);
      await ports.outbox.write([end, next], []);
      const idsOf = async (by: Outbox, nowMs: number, untilMs: number) => {
        const [claimed] = await by.claim({
          wanted: [{ endpoint: 'one', limit: 9 }],
          nowMs,
          untilMs,
        });
        return [claimed?.requests.map(({ id }) => id), claimed?.dueAtMs];
      };
      // Not together with it, and not while it is claimed; others are not blocked.
      expect(await idsOf(ports.outbox, 2_000, 9_000)).toEqual([
        [first.id, second.id, next.id],
        undefined,
      ]);
      expect(await idsOf(ports.other, 2_500, 9_500)).toEqual([[], 9_000]);
      expect(await ports.log.show(end.id)).toMatchObject({ nextAttemptAtMs: undefined });
      // Not while it waits to be tried again.
      await ports.outbox.write(
        [],
        [retried(start, 5_000), failed(second, 3_000), failed(next, 3_000)],
      );
      expect(await idsOf(ports.other, 4_999, 9_500)).toEqual([[], 5_000]);
      expect(await idsOf(ports.outbox, 5_000, 9_900)).toEqual([[first.id], undefined]);
      // What waits for others only is due at no time.
      expect(await ports.outbox.backlog()).toContainEqual(
        expect.objectContaining({ endpoint: 'one', rows: 2, dueAtMs: 9_900 }),
      );
      await ports.outbox.write([], [failed(start, 6_000)]);
      expect(await idsOf(ports.other, 6_000, 20_000)).toEqual([[end.id], undefined]);
    });

    it('blocks the replayed end of a publish until its replayed start is over', async () => {
      const start = { ...first, kind: 'publish' } as const;
      const end = outboxRequest(4, { afterId: first.id });
      await ports.outbox.write(
        [end],
        [failed(start, 3_000), failed(end, 3_000), failed(second, 3_000)],
      );
      await ports.log.replay(first.id, 4_000);
      await ports.log.replay(end.id, 4_000);
      const ids = async (nowMs: number) =>
        (await claim('one', 9, nowMs, 9_000))[0]?.requests.map(({ id }) => id);
      expect(await ids(4_000)).toEqual([first.id]);
      await ports.outbox.write([], [failed(start, 5_000)]);
      expect(await ids(5_000)).toEqual([end.id]);
    });

    it('brings forward what is due later than any pause, and no blocked or finished request', async () => {
      const { outbox } = ports;
      const blocked = outboxRequest(4, { endpoint: 'two', afterId: other.id });
      await outbox.write([blocked], [retried(first, 90_000), failed(second, 95_000)]);
      expect(await outbox.bringForward(5_000, 90_000)).toBe(false);
      expect(await outbox.bringForward(5_000, 89_999)).toBe(true);
      expect(await outbox.bringForward(5_000, 89_999)).toBe(false);
      const claims = await outbox.claim({
        wanted: [
          { endpoint: 'one', limit: 9 },
          { endpoint: 'two', limit: 9 },
        ],
        nowMs: 5_000,
        untilMs: 9_000,
      });
      expect(claims.map(({ requests }) => requests.map(({ id }) => id))).toEqual([
        [first.id],
        [other.id],
      ]);
    });

    it('does not block a request if the one before it is over or unknown', async () => {
      await ports.outbox.write([], [failed(first, 3_000), failed(second, 3_000)]);
      const over = outboxRequest(7, { afterId: first.id });
      const never = outboxRequest(8, { afterId: 'id-999999' });
      await ports.outbox.write([over, never], []);
      expect((await claim('one', 9, 3_000, 9_000))[0]?.requests.map(({ id }) => id)).toEqual([
        over.id,
        never.id,
      ]);
    });

    it('finds no request by an invalid id', async () => {
      for (const id of ['', '\0', 'id-000001\0', "'", '\ud800']) {
        expect(await ports.log.show(id)).toBeUndefined();
        expect(await ports.log.replay(id, 5_000)).toBe('unknown');
        expect(await ports.log.list({ limit: 5, ownerId: id })).toEqual([]);
      }
      expect(await ports.log.list({ limit: 5, before: '\0' })).toEqual([]);
    });

    it('keeps any text of a body unchanged', async () => {
      const body = JSON.stringify({ a: 'ä€𝄞\u2028 \\ \' " $1 {x} \u0001' }) + 'x'.repeat(300_000);
      await ports.outbox.write([outboxRequest(9, { body })], []);
      expect(await ports.outbox.body('id-000009')).toBe(body);
    });

    it('ignores the settlement of a deleted request', async () => {
      await ports.outbox.write([], [failed(outboxRequest(77), 3_000), failed(first, 3_000)]);
      expect(await ports.log.show('id-000077')).toBeUndefined();
      expect(await ports.log.show(first.id)).toMatchObject({ state: 'failed' });
    });

    it('counts waiting requests by endpoint', async () => {
      await ports.outbox.write([], [retried(first, 500)]);
      await claim('two', 1, 2_000, 9_000);
      expect(
        (await ports.outbox.backlog()).toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1)),
      ).toEqual([
        { endpoint: 'one', rows: 2, bytes: 14, oldestAtMs: 1_001, dueAtMs: 500 },
        { endpoint: 'two', rows: 1, bytes: 7, oldestAtMs: 1_003, dueAtMs: 9_000 },
      ]);
    });

    it('lists the newest first, page by page, by owner and by state', async () => {
      await ports.outbox.write([], [failed(second, 3_000)]);
      const ids = async (filter: Parameters<OutboxLog['list']>[0]) =>
        (await ports.log.list(filter)).map(({ id }) => id);
      expect(await ids({ limit: 2 })).toEqual([other.id, second.id]);
      expect(await ids({ limit: 2, before: second.id })).toEqual([first.id]);
      expect(await ids({ limit: 9, ownerId: 'app-2' })).toEqual([other.id]);
      expect(await ids({ limit: 9, kinds: ['channels'], state: 'failed' })).toEqual([second.id]);
      await ports.outbox.write(
        [outboxRequest(4, { kind: 'push' }), outboxRequest(5, { kind: 'publish' })],
        [],
      );
      expect(await ids({ limit: 9, kinds: ['push', 'publish'], ownerId: 'app' })).toEqual([
        'id-000005',
        'id-000004',
      ]);
      expect(await ids({ limit: 1, kinds: ['channels'] })).toEqual([other.id]);
      expect(await ids({ limit: 9, kinds: [] })).toEqual([]);
      expect((await ports.log.list({ limit: 1, state: 'failed' }))[0]).toEqual({
        id: second.id,
        kind: 'channels',
        ownerId: 'app',
        url: second.url,
        endpoint: 'one',
        events: 'member_added ×2',
        createdAtMs: second.createdAtMs,
        bodyBytes: 7,
        state: 'failed',
        reason: 'HTTP 500',
        attempts: 1,
        nextAttemptAtMs: undefined,
        finishedAtMs: 3_000,
      });
    });

    it('replays finished requests only', async () => {
      await ports.outbox.write([], [failed(first, 3_000)]);
      expect(await ports.log.replay(first.id, 7_000)).toMatchObject({
        id: first.id,
        endpoint: 'one',
      });
      expect(await ports.log.replay(first.id, 7_000)).toBe('waiting');
      expect(await ports.log.replay('nonsense', 7_000)).toBe('unknown');
      expect(await ports.log.show(first.id)).toMatchObject({ state: 'waiting', reason: '' });
      const [again] = await claim('one', 5, 7_000, 9_000);
      expect(again?.requests.find(({ id }) => id === first.id)).toMatchObject({
        attempts: 1,
        tries: 0,
        firstTryAtMs: undefined,
      });
    });

    it('deletes the oldest finished requests with their attempts, and no waiting ones', async () => {
      await ports.outbox.write([], [failed(second, 3_000), failed(other, 4_000)]);
      const kept = (await ports.log.finished()).toSorted((a, b) =>
        a.ownerId < b.ownerId ? -1 : 1,
      );
      expect(kept).toEqual([
        { ownerId: 'app', rows: 1, bytes: 7 },
        { ownerId: 'app-2', rows: 1, bytes: 7 },
      ]);
      expect(
        await ports.log.forget({ finishedBeforeMs: 9_000, limit: 9, ownerId: 'nobody' }),
      ).toEqual({ rows: 0, bytes: 0 });
      expect(await ports.log.forget({ finishedBeforeMs: 3_000, limit: 9 })).toEqual({
        rows: 0,
        bytes: 0,
      });
      expect(await ports.log.forget({ finishedBeforeMs: 9_000, limit: 1 })).toEqual({
        rows: 1,
        bytes: 7,
      });
      expect(await ports.log.show(second.id)).toBeUndefined();
      expect(await ports.log.forget({ finishedBeforeMs: 9_000, limit: 9, ownerId: 'app' })).toEqual(
        { rows: 0, bytes: 0 },
      );
      expect(
        await ports.log.forget({ finishedBeforeMs: 9_000, limit: 9, ownerId: 'app-2' }),
      ).toEqual({ rows: 1, bytes: 7 });
      expect(await ports.log.show(first.id)).toMatchObject({ state: 'waiting' });
      expect(await ports.log.finished()).toEqual([]);
    });
  });
}
