import { describe, expect, it } from 'bun:test';
import { KeyUses, mergeUses } from './key-uses.ts';

describe('the uses of keys', () => {
  it('have the time of the latest, by purpose, and the open connections', () => {
    let nowMs = 1_000;
    const uses = new KeyUses({ now: () => nowMs }).replace(['old', 'new']);
    uses.of('old')?.note('request');
    uses.of('old')?.opened();
    uses.of('old')?.opened();
    nowMs = 2_000;
    uses.of('old')?.closed();
    expect(uses.of('unknown')).toBeUndefined();
    expect(uses.shown((key) => key)).toEqual([
      { key: 'old', lastAtMs: { request: 1_000, connection: 2_000 }, connections: 1 },
      { key: 'new', lastAtMs: {}, connections: 0 },
    ]);
  });

  it('stay when a key is added, and go with the key', () => {
    const uses = new KeyUses({ now: () => 7 }).replace(['old']);
    uses.of('old')?.note('request');
    const used = { key: 'old', lastAtMs: { request: 7 }, connections: 0 };
    const unused = { key: 'new', lastAtMs: {}, connections: 0 };
    expect(uses.replace(['old', 'new']).shown((key) => key)).toEqual([used, unused]);
    expect(uses.replace(['new']).shown((key) => key)).toEqual([unused]);
    expect(uses.replace(['old']).of('old')?.shown('old').lastAtMs).toEqual({});
  });

  it('of several servers are merged by the latest, and keys with the same name by their order', () => {
    const here = [
      { key: '…', lastAtMs: { request: 5, signature: 9 }, connections: 1 },
      { key: '…', lastAtMs: {}, connections: 0 },
    ];
    const there = [
      { key: '…', lastAtMs: { request: 6, connection: 1 }, connections: 2 },
      { key: '…', lastAtMs: { request: 3 }, connections: 0 },
      { key: 'added', lastAtMs: {}, connections: 0 },
    ];
    expect(mergeUses([here, there])).toEqual([
      { key: '…', lastAtMs: { request: 6, signature: 9, connection: 1 }, connections: 3 },
      { key: '…', lastAtMs: { request: 3 }, connections: 0 },
      { key: 'added', lastAtMs: {}, connections: 0 },
    ]);
  });
});
