import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FakeTime } from '../../../../testing/fake-time.ts';
import type { Installation } from '../../../asking/facts/servers.ts';
import { differenceOf, ofApps, readInstallation } from './installation.ts';
import { Strangers } from './strangers.ts';

const app = (id: string, ...keys: readonly string[]) => ({
  id,
  keys: keys.map((key) => ({ key, secret: 's' })),
});

const [ONE, TWO] = [{ database: '0'.repeat(16) }, { database: '1'.repeat(16) }];

describe('two servers', () => {
  it.each<[Installation, Installation, string | undefined]>([
    [ONE, ONE, undefined],
    [ONE, TWO, 'its store is another database'],
    [ONE, ofApps([]), 'its store is a file, and that of this server is in PostgreSQL'],
    [ofApps([]), ONE, 'its store is in PostgreSQL, and that of this server is a file'],
    [ofApps([app('1', 'a')]), ofApps([app('1', 'a')]), undefined],
    // A key is being rotated, and an app was added.
    [ofApps([app('1', 'a')]), ofApps([app('1', 'b', 'a'), app('2', 'c')]), undefined],
    [ofApps([app('1', 'a')]), ofApps([app('1', 'b')]), 'it has no app of this server'],
    [ofApps([app('1', 'a')]), ofApps([]), undefined],
  ])('%j and %j are of one installation, unless %s', (own, other, why) => {
    expect(differenceOf(own, other)).toBe(why as string);
  });

  it('are of one installation if both have most of many apps', () => {
    const apps = Array.from({ length: 1_000 }, (_, n) => app(String(n), `k${n}`));
    expect(differenceOf(ofApps(apps.slice(0, 900)), ofApps(apps.slice(50)))).toBeUndefined();
  });

  it('may be of any release: what cannot be read says nothing', () => {
    for (const said of [undefined, true, 'x', {}, { database: 7 }, { database: 'x' }]) {
      expect(readInstallation(said)).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.jsonValue(), (said) => {
        const read = readInstallation(said);
        expect(read === undefined || differenceOf(read, read) === undefined).toBe(true);
      }),
    );
  });
});

function stage(own: Installation | undefined) {
  const time = new FakeTime();
  const warnings: unknown[] = [];
  const said = { now: undefined as unknown };
  const strangers = new Strangers({
    own: async () => own,
    ask: async () => said.now,
    timers: time,
    log: { warn: (_, fields) => void warnings.push(fields) },
  });
  return { time, warnings, said, strangers };
}

describe('a server of another installation', () => {
  it('with another database is reported at once, and once', async () => {
    const { strangers, warnings, time } = stage(ONE);
    await strangers.meet('b', TWO);
    await strangers.meet('b', TWO);
    const why = 'its store is another database';
    expect(warnings).toEqual([{ server: 'b', why }]);
    expect(strangers.list()).toEqual([{ node: 'b', why, sinceMs: time.now() }]);
    await strangers.meet('b', ONE);
    expect(strangers.list()).toEqual([]);
  });

  it('with other apps is reported if it still has none in common after ten minutes', async () => {
    const { strangers, warnings, said, time } = stage(ofApps([app('1', 'a')]));
    const other = ofApps([app('1', 'b')]);
    await strangers.meet('b', other);
    await strangers.meet('c', other);
    await strangers.meet('c', ofApps([app('1', 'a')]));
    said.now = other;
    await time.advance(10 * 60_000);
    expect(warnings).toEqual([{ server: 'b', why: 'it has no app of this server' }]);
  });

  it('is not reported if the apps were only being changed, or if either says nothing', async () => {
    const changing = stage(ofApps([app('1', 'a')]));
    await changing.strangers.meet('b', ofApps([app('1', 'b')]));
    changing.said.now = ofApps([app('1', 'a')]);
    await changing.time.advance(10 * 60_000);
    await changing.strangers.meet('older', undefined);
    const away = stage(undefined);
    await away.strangers.meet('b', TWO);
    expect([...changing.warnings, ...away.warnings]).toEqual([]);
  });
});
