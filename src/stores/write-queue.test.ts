import { describe, expect, it } from 'bun:test';
import { SQL, type TransactionSQL } from 'bun';
import fc from 'fast-check';
import { StoreBusy } from './faults.ts';
import { type Batch, type Begin, WriteQueue } from './write-queue.ts';

/** What a fake transaction is: the changes note down what they did in it. */
const NO_SQL = null as unknown as TransactionSQL;

/** A disk that commits what `done` holds when a transaction ends well, and waits where told to. */
function disk() {
  const commits: string[][] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  let open: string[] = [];
  let fault: Error | undefined;
  let slow = false;
  const begin: Begin = async (work) => {
    open = [];
    const mine = open;
    const result = await work(NO_SQL);
    if (slow) {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
    }
    if (fault !== undefined) throw fault;
    commits.push(mine);
    return result;
  };
  return {
    begin,
    commits,
    gates,
    /** A change that does one thing. */
    does: (what: string) => async () => {
      open.push(what);
      return what;
    },
    fails: (error: Error) => async () => {
      throw error;
    },
    breakWith(error: Error | undefined) {
      fault = error;
    },
    slowDown() {
      slow = true;
    },
  };
}

/** What PostgreSQL says where a row is there already. */
function postgresError(errno: string): Error {
  return Object.assign(Object.create(SQL.PostgresError.prototype), { errno, message: errno });
}

/** Lets everything run that waits for no gate. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('the write queue', () => {
  it('puts what is asked for in one turn of the loop into one commit, in its order', async () => {
    const { begin, commits, does } = disk();
    const queue = new WriteQueue(begin, 1);
    const results = await Promise.all(['a', 'b', 'c'].map((what) => queue.run(does(what))));
    expect(results).toEqual(['a', 'b', 'c']);
    expect(commits).toEqual([['a', 'b', 'c']]);
  });

  it('collects what comes while it commits', async () => {
    const { begin, commits, gates, does, slowDown } = disk();
    slowDown();
    const queue = new WriteQueue(begin, 1);
    const first = queue.run(does('a'));
    await quiet();
    const rest = [queue.run(does('b')), queue.run(does('c'))];
    await quiet();
    expect(gates).toHaveLength(1);
    gates[0]?.resolve();
    await first;
    await quiet();
    gates[1]?.resolve();
    await Promise.all(rest);
    expect(commits).toEqual([['a'], ['b', 'c']]);
  });

  it('has several commits under way where the database can, and never more', async () => {
    const { begin, gates, does, slowDown } = disk();
    slowDown();
    const queue = new WriteQueue(begin, 2);
    const all: Promise<string>[] = [];
    for (const what of ['a', 'b', 'c', 'd']) {
      all.push(queue.run(does(what)));
      await quiet();
    }
    expect(gates).toHaveLength(2);
    for (let next = 0; next < 3; next++) {
      gates[next]?.resolve();
      await quiet();
    }
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
    expect(gates).toHaveLength(3);
  });

  it('does not let one change that fails spoil the others', async () => {
    const { begin, commits, does, fails } = disk();
    const queue = new WriteQueue(begin, 1);
    const settled = await Promise.allSettled([
      queue.run(does('a')),
      queue.run(fails(new Error('no'))),
      queue.run(does('b')),
    ]);
    expect(settled).toMatchObject([
      { status: 'fulfilled', value: 'a' },
      { status: 'rejected', reason: { message: 'no' } },
      { status: 'fulfilled', value: 'b' },
    ]);
    expect(commits.flat()).toEqual(['a', 'b']);
  });

  it('settles each change as if it had been alone, whichever fail, with few commits for few of them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 300 }), async (works) => {
        const { begin, commits, does, fails } = disk();
        let begun = 0;
        const counting: Begin = (work) => {
          begun += 1;
          return begin(work);
        };
        const queue = new WriteQueue(counting, 1);
        const settled = await Promise.allSettled(
          works.map((ok, index) => queue.run(ok ? does(`${index}`) : fails(new Error(`${index}`)))),
        );
        expect(settled.map(({ status }) => status === 'fulfilled')).toEqual(works);
        const done = works.flatMap((ok, index) => (ok ? [`${index}`] : []));
        expect(commits.flat()).toEqual(done);
        const failing = works.length - done.length;
        expect(begun).toBeLessThanOrEqual(2 + failing * 20);
      }),
      { numRuns: 50 },
    );
  });

  it('tells all of a commit where the store itself fails, and does not try again', async () => {
    const { begin, commits, does, breakWith } = disk();
    const full = new SQL.SQLiteError('full', { code: 'SQLITE_FULL', errno: 13 });
    breakWith(full);
    const queue = new WriteQueue(begin, 1);
    const settled = await Promise.allSettled([queue.run(does('a')), queue.run(does('b'))]);
    expect(settled).toEqual([
      { status: 'rejected', reason: full },
      { status: 'rejected', reason: full },
    ]);
    breakWith(undefined);
    expect(await queue.run(does('c'))).toBe('c');
    expect(commits).toEqual([['c']]);
  });

  it('tries again what another transaction was in the way of, five times at most', async () => {
    const { begin } = disk();
    const queue = new WriteQueue(begin, 1);
    let tries = 0;
    const deadlocked = (until: number) => async () => {
      tries += 1;
      if (tries < until) throw postgresError('40P01');
      return tries;
    };
    expect(await queue.run(deadlocked(3))).toBe(3);
    tries = 0;
    await expect(queue.run(deadlocked(99))).rejects.toMatchObject({ errno: '40P01' });
    expect(tries).toBe(5);
  });

  it('does together, at the end of each commit, what its changes left for it', async () => {
    const { begin, commits, does, fails, gates, slowDown } = disk();
    const ran: (readonly number[])[] = [];
    const batch: Batch<number> = {
      async run(_, items) {
        ran.push(items);
        await does(`batch of ${items.length}`)();
      },
    };
    const queue = new WriteQueue(begin, 1);
    const leaving = (item: number) =>
      queue.run(async (_, later) => {
        await does(`${item}`)();
        later(batch, item);
      });
    await Promise.all([leaving(1), leaving(2)]);
    expect(commits).toEqual([['1', '2', 'batch of 2']]);
    // What was left by a commit that failed does not stay for the next one.
    await Promise.allSettled([leaving(3), queue.run(fails(new Error('no')))]);
    expect(commits.slice(1)).toEqual([['3', 'batch of 1']]);
    slowDown();
    const last = leaving(4);
    await quiet();
    gates[0]?.resolve();
    await last;
    expect(ran.at(-1)).toEqual([4]);
  });

  it('runs what is left to the end of a commit in the order of its places', async () => {
    const { begin, commits, does } = disk();
    const queue = new WriteQueue(begin, 1);
    const batch = (name: string, place?: number): Batch<number> => ({
      ...(place === undefined ? {} : { place }),
      async run() {
        await does(name)();
      },
    });
    const [last, first, second] = [batch('last', 1), batch('first'), batch('second', 0)];
    await queue.run(async (_, later) => {
      for (const one of [last, first, second]) later(one, 1);
    });
    expect(commits).toEqual([['first', 'second', 'last']]);
  });

  it('refuses what is too much, and takes more once there is room', async () => {
    const { begin, commits, does, gates, slowDown } = disk();
    slowDown();
    const queue = new WriteQueue(begin, 1);
    const first = queue.run(does('first'));
    await quiet();
    const waiting = Array.from({ length: 10_000 }, (_, index) => queue.run(does(`${index}`)));
    await expect(queue.run(does('one too many'))).rejects.toThrow(StoreBusy);
    gates[0]?.resolve();
    await first;
    await quiet();
    const more = queue.run(does('more'));
    for (let next = 1; commits.length < 41; next += 1) {
      gates[next]?.resolve();
      await quiet();
    }
    await Promise.all([...waiting, more]);
    expect(Math.max(...commits.map(({ length }) => length))).toBe(256);
    expect(commits.flat()).toHaveLength(10_002);
  });

  it('is drained when nothing waits and nothing is being committed, each time anew', async () => {
    const { begin, gates, does, slowDown } = disk();
    const queue = new WriteQueue(begin, 1);
    await queue.drained();
    slowDown();
    for (const round of [0, 1]) {
      let drained = false;
      const asked = queue.run(does('a'));
      const waited = queue.drained().then(() => {
        drained = true;
      });
      await quiet();
      expect(drained).toBe(false);
      gates[round]?.resolve();
      await asked;
      await waited;
    }
  });
});
