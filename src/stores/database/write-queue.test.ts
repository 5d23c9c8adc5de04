import { describe, expect, it } from 'bun:test';
import { SQL, type TransactionSQL } from 'bun';
import fc from 'fast-check';
import { StoreBusy } from '../../push/store-faults.ts';
import type { WriteOwner } from './waiting-changes.ts';
import { type Begin, type CommitBatch, WriteQueue } from './write-queue.ts';

/** A fake transaction: changes record in it what they did. */
const NO_SQL = null as unknown as TransactionSQL;

/** A fake disk, which commits the changes of successful transactions, and waits at gates. */
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

/** PostgreSQL's unique violation. */
function postgresError(errno: string): Error {
  return Object.assign(Object.create(SQL.PostgresError.prototype), { errno, message: errno });
}

/** A queue with a stopped clock. */
function queueFor(begin: Begin, commitsAtOnce = 1): WriteQueue {
  return new WriteQueue({ begin, commitsAtOnce, now: () => 0, refused: () => undefined });
}

/** Runs everything that waits for no gate. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('the write queue', () => {
  it('groups changes of one turn of the loop into one commit, in order', async () => {
    const { begin, commits, does } = disk();
    const queue = queueFor(begin);
    const results = await Promise.all(['a', 'b', 'c'].map((what) => queue.run(does(what))));
    expect(results).toEqual(['a', 'b', 'c']);
    expect(commits).toEqual([['a', 'b', 'c']]);
  });

  it('collects changes during a commit', async () => {
    const { begin, commits, gates, does, slowDown } = disk();
    slowDown();
    const queue = queueFor(begin);
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

  it('overlaps commits up to the limit of the database', async () => {
    const { begin, gates, does, slowDown } = disk();
    slowDown();
    const queue = queueFor(begin, 2);
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

  it('isolates a failing change from the others', async () => {
    const { begin, commits, does, fails } = disk();
    const queue = queueFor(begin);
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

  it('settles each change as if it were alone, with few commits for few failures', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 300 }), async (works) => {
        const { begin, commits, does, fails } = disk();
        let begun = 0;
        const counting: Begin = (work) => {
          begun += 1;
          return begin(work);
        };
        const queue = queueFor(counting);
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

  it('rejects all changes of a commit if the store itself fails, without a retry', async () => {
    const { begin, commits, does, breakWith } = disk();
    const full = new SQL.SQLiteError('full', { code: 'SQLITE_FULL', errno: 13 });
    breakWith(full);
    const queue = queueFor(begin);
    const settled = await Promise.allSettled([queue.run(does('a')), queue.run(does('b'))]);
    expect(settled).toEqual([
      { status: 'rejected', reason: full },
      { status: 'rejected', reason: full },
    ]);
    breakWith(undefined);
    expect(await queue.run(does('c'))).toBe('c');
    expect(commits).toEqual([['c']]);
  });

  it('retries conflicts with other transactions, up to five times', async () => {
    const { begin } = disk();
    const queue = queueFor(begin);
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

  it('runs batches at the end of each commit', async () => {
    const { begin, commits, does, fails, gates, slowDown } = disk();
    const ran: (readonly number[])[] = [];
    const batch: CommitBatch<number> = {
      async run(_, items) {
        ran.push(items);
        await does(`batch of ${items.length}`)();
      },
    };
    const queue = queueFor(begin);
    const leaving = (item: number) =>
      queue.run(async (_, later) => {
        await does(`${item}`)();
        later(batch, item);
      });
    await Promise.all([leaving(1), leaving(2)]);
    expect(commits).toEqual([['1', '2', 'batch of 2']]);
    // Batches of a failed commit do not run in the next one.
    await Promise.allSettled([leaving(3), queue.run(fails(new Error('no')))]);
    expect(commits.slice(1)).toEqual([['3', 'batch of 1']]);
    slowDown();
    const last = leaving(4);
    await quiet();
    gates[0]?.resolve();
    await last;
    expect(ran.at(-1)).toEqual([4]);
  });

  it('runs batches in the order of their places', async () => {
    const { begin, commits, does } = disk();
    const queue = queueFor(begin);
    const batch = (name: string, place?: number): CommitBatch<number> => ({
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

  it('refuses changes beyond its limit, and accepts more once there is room', async () => {
    const { begin, commits, does, gates, slowDown } = disk();
    slowDown();
    const queue = queueFor(begin);
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

  it('is drained when nothing waits and no commit runs', async () => {
    const { begin, gates, does, slowDown } = disk();
    const queue = queueFor(begin);
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

describe('the write queue shares among owners', () => {
  const [FLOODING, HONEST] = [1, 2];

  /** A queue whose first commit waits, and a log of its calls. */
  async function busyQueue(now = () => 0) {
    const { begin, commits, does, gates, slowDown } = disk();
    const refused: WriteOwner[] = [];
    const queue = new WriteQueue({
      begin,
      commitsAtOnce: 1,
      now,
      refused: (owner) => refused.push(owner),
    });
    slowDown();
    const first = queue.run(does('first'));
    await quiet();
    /** Completes commits, one after the other, until nothing waits. */
    const finish = async () => {
      for (let next = 0; next < gates.length; next++) {
        gates[next]?.resolve();
        await quiet();
      }
      await first;
    };
    return { queue, commits, does, refused, finish };
  }

  const flood = (count: number, run: (name: string) => Promise<unknown>) =>
    Array.from({ length: count }, (_, index) => run(`flood ${index}`));

  it('so that the queue of one owner delays another by one commit at most', async () => {
    const { queue, commits, does, finish } = await busyQueue();
    const flooded = flood(9_000, (name) => queue.run(does(name), FLOODING));
    const honest = queue.run(does('honest'), HONEST);
    await finish();
    await Promise.all([...flooded, honest]);
    expect(commits[1]).toContain('honest');
    expect(commits[1]).toHaveLength(256);
  });

  it('and keeps the order of each owner', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom<WriteOwner>(undefined, 'admin', 1, 2, 3), {
          minLength: 300,
          maxLength: 900,
        }),
        async (owners) => {
          const { queue, commits, finish, does } = await busyQueue();
          const all = owners.map((owner, index) => queue.run(does(`${owner} ${index}`), owner));
          await finish();
          await Promise.all(all);
          const done = commits.flat().slice(1);
          for (const owner of new Set(owners)) {
            const asked = owners.flatMap((one, index) =>
              one === owner ? [`${owner} ${index}`] : [],
            );
            expect(done.filter((what) => what.startsWith(`${owner} `))).toEqual(asked);
          }
          expect(done).toHaveLength(owners.length);
        },
      ),
      { numRuns: 20 },
    );
  });

  it('and refuses the newest of the owner that has most', async () => {
    const { queue, commits, does, refused, finish } = await busyQueue();
    const flooded = flood(10_000, (name) => queue.run(does(name), FLOODING));
    const settled = Promise.allSettled(flooded);
    await expect(queue.run(does('one more'), FLOODING)).rejects.toThrow(StoreBusy);
    const honest = flood(50, (name) => queue.run(does(`honest ${name}`), HONEST));
    expect(refused).toEqual(Array.from({ length: 51 }, () => FLOODING));
    await finish();
    await Promise.all(honest);
    const lost = (await settled).flatMap(({ status }, index) =>
      status === 'rejected' ? [index] : [],
    );
    expect(lost).toEqual(Array.from({ length: 50 }, (_, index) => 9_950 + index));
    expect(commits.flat()).toHaveLength(1 + 10_000);
  });

  it('and never refuses changes of the server because of owners, or the reverse', async () => {
    const { queue, commits, does, refused, finish } = await busyQueue();
    const flooded = flood(10_000, (name) => queue.run(does(name), FLOODING));
    const own = flood(10_000, (name) => queue.run(does(`own ${name}`)));
    expect(refused).toEqual([]);
    await expect(queue.run(does('own, too much'))).rejects.toThrow(StoreBusy);
    expect(refused).toEqual([undefined]);
    await finish();
    await Promise.all([...flooded, ...own]);
    // Half of the places while others wait, alternating.
    expect(commits[1]?.map((what) => what.replace(/ \d+$/, ''))).toEqual(
      Array.from({ length: 256 }, (_, index) => (index % 2 === 0 ? 'own flood' : 'flood')),
    );
  });

  it('so that a commit of slow changes ends after 50 ms, and the rest waits for the next one', async () => {
    let nowMs = 0;
    const { queue, commits, does, finish } = await busyQueue(() => nowMs);
    const slowly = (name: string) => () => {
      nowMs += 20;
      return does(name)();
    };
    const slow = flood(20, (name) => queue.run(slowly(name), FLOODING));
    // Each owner gets one change into the commit, even if those of others are slow.
    const honest = [2, 3, 4, 5].map((owner) => queue.run(slowly(`honest ${owner}`), owner));
    await finish();
    await Promise.all([...slow, ...honest]);
    expect(commits.slice(1, 4)).toEqual([
      ['flood 0', 'honest 2', 'honest 3', 'honest 4', 'honest 5'],
      ['flood 1', 'flood 2', 'flood 3'],
      ['flood 4', 'flood 5', 'flood 6'],
    ]);
    expect(commits.flat().filter((what) => what.startsWith('flood'))).toEqual(
      Array.from({ length: 20 }, (_, index) => `flood ${index}`),
    );
  });

  it('so that slow changes of the server leave every second place to owners', async () => {
    let nowMs = 0;
    const { queue, commits, does, finish } = await busyQueue(() => nowMs);
    const slowly = (name: string) => () => {
      nowMs += 60;
      return does(name)();
    };
    const own = flood(4, (name) => queue.run(slowly(`own ${name}`)));
    const honest = [1, 2].map((owner) => queue.run(slowly(`honest ${owner}`), owner));
    await finish();
    await Promise.all([...own, ...honest]);
    expect(commits.slice(1)).toEqual([
      ['own flood 0', 'honest 1', 'own flood 1', 'honest 2'],
      ['own flood 2'],
      ['own flood 3'],
    ]);
  });
});
