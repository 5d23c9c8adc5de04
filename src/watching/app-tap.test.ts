import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../testing/any-character.ts';
import type { TapEvent } from '../channels/watching/tap.ts';
import { AppTap } from './app-tap.ts';
import type { TapRecord, WatchedEvent, WatchFilter } from './records.ts';

function tapWith(filters: readonly WatchFilter[] = [{}], share = {}) {
  let traces = 0;
  const tap = new AppTap({
    appId: 'app',
    loop: 'loop',
    clock: { now: () => 17 },
    newTrace: () => `t${traces++}`,
  });
  tap.filters = filters;
  tap.share = { records: 10, events: 5, characters: 100_000, ...share };
  return tap;
}

const api = (more: Partial<TapEvent> = {}): TapEvent => ({
  kind: 'api',
  channel: 'news',
  event: 'created',
  data: '{}',
  ...more,
});

function onlyRecord(event: WatchedEvent): TapRecord | undefined {
  const tap = tapWith();
  tap.record(event);
  return tap.tick(false)?.records[0];
}

describe('the tap of an app', () => {
  it('records what happened, and how many have received it', () => {
    const tap = tapWith();
    const trace = tap.record(api({ key: 'key', except: '1.2' }));
    tap.sent(String(trace), 2);
    tap.sent(String(trace), 1);
    expect(tap.tick(false)).toEqual({
      appId: 'app',
      loop: 'loop',
      records: [
        expect.objectContaining({ ...api({ key: 'key', except: '1.2' }), receivers: 3, atMs: 17 }),
      ],
      heard: [],
      skipped: {},
      counts: undefined,
    });
    expect(tap.tick(false)).toBeUndefined();
  });

  it('reports receivers of what another loop has recorded', () => {
    const tap = tapWith();
    tap.sent('elsewhere', 2);
    tap.sent('elsewhere', 3);
    expect(tap.tick(false)?.heard).toEqual([['elsewhere', 5]]);
  });

  it('keeps room for what is rare, and counts everything', () => {
    const tap = tapWith();
    for (let n = 0; n < 1000; n++) tap.record(api({ channel: `c${n % 3}` }));
    for (let n = 0; n < 7; n++) tap.record({ kind: 'error', reason: 'why' });
    const tick = tap.tick(true);
    const recorded = (kind: string) => tick?.records.filter((one) => one.kind === kind).length;
    expect([recorded('api'), recorded('error')]).toEqual([5, 5]);
    expect(tick?.skipped).toEqual({ api: 995, error: 2 });
    expect(tick?.counts).toEqual({
      kinds: { api: 1000, error: 7 },
      channels: [
        { name: 'c0', events: 334 },
        { name: 'c1', events: 333 },
        { name: 'c2', events: 333 },
      ],
      names: [{ name: 'created', events: 1000 }],
    });
    expect(tap.tick(true)?.counts?.kinds).toEqual({});
  });

  it('records only what a watcher wants, and does not call the rest skipped', () => {
    const tap = tapWith([{ kinds: ['error'] }, { prefix: 'private-', user: 'ann' }]);
    tap.record(api({ channel: 'private-x' }));
    tap.record(api({ channel: 'private-x', user: 'ann' }));
    tap.record({ kind: 'error', channel: 'other' });
    const tick = tap.tick(true);
    expect(tick?.records.map(({ kind }) => kind)).toEqual(['api', 'error']);
    expect(tick?.skipped).toEqual({});
    expect(tick?.counts?.kinds).toEqual({ api: 2, error: 1 });
  });

  it('bounds the characters of a tick, and the names of a second', () => {
    const tap = tapWith([{}], { records: 1000, events: 1000, characters: 20_000 });
    for (let n = 0; n < 100; n++) tap.record(api({ data: 'x'.repeat(5000), channel: `c${n}` }));
    expect(JSON.stringify(tap.tick(false)).length).toBeLessThan(25_000);
    for (let n = 0; n < 5000; n++) tap.record(api({ channel: `c${n}` }));
    expect(Reflect.get(tap, 'channels')).toHaveProperty('size', 1000);
  });

  it('never shows the data of an encrypted channel, only their size', () => {
    const record = onlyRecord(api({ channel: 'private-encrypted-x', data: '{"nonce":"n"}' }));
    expect(record).toMatchObject({ data: undefined, bytes: 13 });
    expect(onlyRecord(api({ channel: 'private-encrypted-cache-x' }))?.data).toBeUndefined();
  });

  it('never shows a signature that a client has sent', () => {
    const signature = 'ab'.repeat(32);
    const reason = `Invalid signature: Expected HMAC SHA256 hex digest of 1.1:x, but got ${signature}\nmore`;
    expect(onlyRecord({ kind: 'refused', reason })?.reason).toBe(
      'Invalid signature: Expected HMAC SHA256 hex digest of 1.1:x',
    );
    expect(onlyRecord({ kind: 'refused', reason: `Invalid key: '${signature}'` })?.reason).toBe(
      "Invalid key: '(signature)'",
    );
  });

  it('cuts texts, and data to 1 KiB of whole characters, with their true length', () => {
    const text = fc.string({ unit: anyCharacter, maxLength: 2000 });
    fc.assert(
      fc.property(text, (data) => {
        const record = onlyRecord(api({ data, channel: data, event: data, reason: data }));
        expect(record?.bytes).toBe(Buffer.byteLength(data));
        expect(data).toStartWith(record?.data ?? 'no data');
        expect(Buffer.byteLength(record?.data ?? '')).toBeLessThanOrEqual(1024);
        expect((record?.channel?.length ?? 0) + (record?.event?.length ?? 0)).toBeLessThan(401);
      }),
    );
    expect(onlyRecord(api({ data: '😀'.repeat(300) }))?.data).toBe('😀'.repeat(256));
  });

  it('of an instance lets no kind take more than half of the room that the others leave', () => {
    const tap = tapWith([{}], { records: 16, events: 0 });
    const happens = (kind: 'accepted' | 'failed', device: string) =>
      tap.record({ kind, device, publish: 'p', reason: kind === 'failed' ? 'why' : undefined });
    for (let n = 0; n < 100; n++) happens('accepted', `${n}`);
    for (let n = 0; n < 100; n++) happens('failed', `${n}`);
    tap.record({ kind: 'paused', platform: 'fcm', reason: 'why' });
    tap.record({ kind: 'published', publish: 'q', target: 'users: ann' });
    const tick = tap.tick(true);
    const recorded = Map.groupBy(tick?.records ?? [], ({ kind }) => kind);
    expect([...recorded].map(([kind, all]) => [kind, all.length])).toEqual([
      ['accepted', 8],
      ['failed', 4],
      ['paused', 1],
      ['published', 1],
    ]);
    expect(tick?.skipped).toEqual({ accepted: 92, failed: 96 });
    expect(tick?.counts).toEqual({
      kinds: { accepted: 100, failed: 100, paused: 1, published: 1 },
      channels: [
        { name: 'p', events: 200 },
        { name: 'q', events: 1 },
      ],
      names: [{ name: 'why', events: 101 }],
    });
  });

  it('of an instance records what a watcher wants of publishes, devices and platforms', () => {
    const tap = tapWith([{ publish: 'p', platform: 'fcm' }, { device: 'web-1' }]);
    const happens = (publish: string, platform: 'fcm' | 'web', device: string) =>
      tap.record({ kind: 'accepted', publish, platform, device });
    happens('p', 'fcm', 'fcm-1');
    happens('p', 'web', 'web-2');
    happens('q', 'fcm', 'fcm-1');
    happens('q', 'web', 'web-1');
    const devices = tap.tick(false)?.records.map(({ publish, device }) => `${publish} ${device}`);
    expect(devices).toEqual(['p fcm-1', 'q web-1']);
  });
});
