import { beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime, settled } from '../../../testing/fake-time.ts';
import { appWith } from '../../channels/hub.fixture.ts';
import { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { KeySetCause } from '../link/messages.ts';
import { ASK_INTERVAL_MS, KeySetAsks } from './key-set-asks.ts';

const keySet = { url: 'https://issuer.example.com', keys: [], version: 1 };

let time: FakeTime;
let asked: string[];
let asks: KeySetAsks;
let app: ReturnType<typeof appWith>;
beforeEach(() => {
  time = new FakeTime();
  asked = [];
  const apps = new MemoryAppDirectory(time);
  apps.replace([appWith({ id: 'a' })]);
  asks = new KeySetAsks({ apps, timers: time, ask: (appId) => void asked.push(appId) });
  const live = apps.byId('a');
  if (live === undefined) throw new Error('no app');
  app = live;
});

const answer = (cause: KeySetCause, appId = 'a') =>
  asks.received({ type: 'key-set', appId, keySet, cause });

/** Whether a promise has settled. */
async function isOver(promise: Promise<void> | undefined): Promise<boolean> {
  let over = false;
  void promise?.then(() => {
    over = true;
  });
  await settled();
  return over;
}

describe('a key set that clients wait for', () => {
  it('is asked for once, and all go on when it is there', async () => {
    const [first, second] = [asks.refresh(app), asks.refresh(app)];
    expect(asked).toEqual(['a']);
    expect(await isOver(first)).toBe(false);
    answer('changed');
    expect(await isOver(first)).toBe(false);
    answer('asked');
    expect([await isOver(first), await isOver(second)]).toEqual([true, true]);
    expect(app.keySet).toEqual(keySet);
  });

  it('is not asked for again within 30 s after the answer', async () => {
    void asks.refresh(app);
    await time.advance(4_000);
    answer('asked');
    await time.advance(ASK_INTERVAL_MS - 1);
    expect(asks.refresh(app)).toBeUndefined();
    await time.advance(1);
    expect(asks.refresh(app)).toBeInstanceOf(Promise);
    expect(asked).toEqual(['a', 'a']);
  });

  it('may be asked for again at once if a fetch was under way anyway', async () => {
    const first = asks.refresh(app);
    answer('shared');
    expect(await isOver(first)).toBe(true);
    expect(asks.refresh(app)).toBeInstanceOf(Promise);
    expect(asked).toEqual(['a', 'a']);
  });

  it('is waited for no longer than 5 s', async () => {
    const waiting = asks.refresh(app);
    await time.advance(4_999);
    expect(await isOver(waiting)).toBe(false);
    await time.advance(1);
    expect(await isOver(waiting)).toBe(true);
    expect(asks.refresh(app)).toBeUndefined();
  });

  it('is not asked for again soon after another loop has asked', () => {
    answer('asked');
    expect(asks.refresh(app)).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('is kept when nobody waits, and forgotten with the app', () => {
    answer('changed');
    expect(app.keySet).toEqual(keySet);
    answer('asked', 'deleted');
    expect(asks.refresh(app)).toBeInstanceOf(Promise);
  });
});
