import { beforeEach, describe, expect, it } from 'bun:test';
import { SQL } from 'bun';
import { FakeTime } from '../../../../testing/fake-time.ts';
import { Readiness } from '../../../transports/admin/readiness.ts';
import { keptLog } from '../../../webhooks/webhooks.fixture.ts';
import { StoreHealth, type StoreHealthOptions } from './store-health.ts';

const full = new SQL.SQLiteError('database or disk is full', { code: 'SQLITE_FULL', errno: 13 });

let timers: FakeTime;
let readiness: Readiness;
let log: ReturnType<typeof keptLog>;
let writes: number;
let lost: () => Promise<string | undefined>;
let lostLock: string | undefined;
let written: () => Promise<void>;
let diskNote: string;
let health: StoreHealth;

beforeEach(() => {
  timers = new FakeTime({ turns: 20 });
  readiness = new Readiness();
  readiness.setRealtime('listening');
  log = keptLog();
  writes = 0;
  lost = async () => undefined;
  lostLock = undefined;
  written = async () => undefined;
  diskNote = '';
  const database = {
    get diskNote() {
      return diskNote;
    },
    lost: () => lost(),
    write: async () => {
      writes += 1;
      await written();
    },
  } as unknown as StoreHealthOptions['database'];
  health = new StoreHealth({
    database,
    lock: { lost: () => lostLock },
    readiness,
    log,
    timers,
  });
  health.watch();
});

describe('StoreHealth', () => {
  it('writes nothing while the store works', async () => {
    await timers.advance(10_000);
    expect({ writes, fault: health.fault(), reasons: readiness.reasons() }).toEqual({
      writes: 0,
      fault: undefined,
      reasons: [],
    });
    expect(log.lines).toEqual([]);
  });

  it('reports a fault while another server has the lock of the store', async () => {
    lostLock = 'another server uses it';
    await timers.advance(1_000);
    expect(health.fault()).toBe('another server uses it');
    lostLock = undefined;
    await timers.advance(1_000);
    expect(health.fault()).toBeUndefined();
  });

  it('accepts the fault that one user reports, tries a write, and detects the end of the fault', async () => {
    written = async () => {
      throw full;
    };
    expect(health.reporter('push')(full)).toBe(true);
    expect(health.reporter('push')(full)).toBe(false);
    expect(health.fault()).toBe('the disk is full');
    await timers.advance(5_000);
    expect(writes).toBe(5);
    expect(readiness.reasons()).toEqual(['store: the disk is full (push, store)']);
    written = async () => undefined;
    await timers.advance(1_000);
    expect(health.fault()).toBeUndefined();
    expect(readiness.reasons()).toEqual([]);
    expect(log.lines).toEqual([
      'error The store does not work {"why":"the disk is full","exactly":"database or disk is full"}',
      'info The store works again {}',
    ]);
    await timers.advance(5_000);
    expect(writes).toBe(6);
  });

  it('names the network file system of the store with an error of SQLite', async () => {
    diskNote = ' (on the network file system nfs4)';
    const code = 'SQLITE_IOERR_SHMMAP';
    health.reporter('push')(new SQL.SQLiteError('disk I/O error', { code, errno: 5386 }));
    expect(health.fault()).toBe(
      'the file system does not let programs share memory (on the network file system nfs4)',
    );
    expect(log.lines[0]).toContain('nfs4');
  });

  it('reports damage even if writes still succeed', async () => {
    const damaged = new SQL.SQLiteError('malformed', { code: 'SQLITE_CORRUPT', errno: 11 });
    health.reporter('push')(damaged);
    await timers.advance(5_000);
    health.reporter('push')(undefined);
    expect(health.fault()).toBe('the store is damaged');
    expect(readiness.reasons()).toEqual(['store: the store is damaged (store)']);
    expect(log.lines).toHaveLength(1);
  });

  it('waits for users that retry themselves to report that the store works for them', async () => {
    const usage = health.reporter('usage');
    usage(full);
    await timers.advance(3_000);
    expect(readiness.reasons()).toEqual(['store: the disk is full (usage)']);
    expect(health.fault()).toBeUndefined();
    expect(usage(undefined)).toBe(true);
    expect(readiness.reasons()).toEqual([]);
    expect(log.lines).toHaveLength(2);
  });

  it('writes nothing into a store that has been replaced', async () => {
    lost = async () => 'the file was removed';
    await timers.advance(3_000);
    expect(writes).toBe(0);
    expect(health.fault()).toBe('the file was removed');
    expect(readiness.reasons()).toEqual(['store: the file was removed (store)']);
    lost = async () => undefined;
    await timers.advance(1_000);
    expect(writes).toBe(1);
    expect(readiness.reasons()).toEqual([]);
  });

  it('checks again after a failed check, one check at a time', async () => {
    const answers: PromiseWithResolvers<undefined>[] = [];
    lost = () => {
      const answer = Promise.withResolvers<undefined>();
      answers.push(answer);
      return answer.promise;
    };
    await timers.advance(10_000);
    expect(answers).toHaveLength(1);
    answers[0]?.reject(new Error('nobody there'));
    await timers.advance(1_000);
    expect(health.fault()).toBe('nobody there');
    answers[1]?.resolve(undefined);
    await timers.advance(0);
    expect(health.fault()).toBeUndefined();
  });

  it('stops checking when it is disposed', async () => {
    let looks = 0;
    lost = async () => {
      looks += 1;
      return undefined;
    };
    await timers.advance(1_000);
    await health[Symbol.asyncDispose]();
    await timers.advance(10_000);
    expect(looks).toBe(1);
  });
});
