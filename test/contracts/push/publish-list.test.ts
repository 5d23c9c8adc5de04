import { describe, expect, it } from 'bun:test';
import type { NewPublish } from '../../../src/push/model/publish.ts';
import { PublishList, type PublishQuery } from '../../../src/stores/push/publishes/publish-list.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { DeliveryScene, NOW_MS } from './delivery/delivery-scene.ts';
import { openPushStores } from './stores.ts';

describe.each(databases)('the list of publishes in $name', ({ make }) => {
  async function open() {
    const stores = await openPushStores(make);
    const scene = new DeliveryScene(stores, await stores.newInstance());
    const list = new PublishList(stores.database);
    return {
      stores,
      scene,
      list,
      /** Accepts publishes one after the other, and returns their ids. */
      async accepted(...changes: readonly Partial<NewPublish>[]) {
        const ids: string[] = [];
        for (const change of changes) ids.push((await scene.accept(change)).id);
        return ids;
      },
      async listed(query: Partial<PublishQuery> = {}) {
        const { instance } = scene;
        const all = { instance, state: undefined, before: undefined, limit: 100, nowMs: NOW_MS };
        const { publishes, next } = await list.list({ ...all, ...query });
        return { ids: publishes.map(({ id }) => String(id)), publishes, next };
      },
      [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
    };
  }

  it('has those of one instance, the newest first, page by page', async () => {
    await using one = await open();
    const ids = await one.accepted({}, {}, {}, {}, {});
    await new DeliveryScene(one.stores, await one.stores.newInstance()).accept();
    const wanted = ids.toReversed();
    expect((await one.listed()).ids).toEqual(wanted);
    const first = await one.listed({ limit: 2 });
    const second = await one.listed({ limit: 2, before: first.next });
    const third = await one.listed({ limit: 2, before: second.next });
    expect([first.ids, second.ids, third.ids]).toEqual([
      wanted.slice(0, 2),
      wanted.slice(2, 4),
      wanted.slice(4),
    ]);
    expect([first.next, third.next]).toEqual([expect.any(Number), undefined]);
  });

  it('finds those of a state, also far back, and a scheduled one whose time has come', async () => {
    await using one = await open();
    const sendAtMs = NOW_MS + 1000;
    const [scheduled = ''] = await one.accepted({ sendAtMs });
    await Promise.all(Array.from({ length: 600 }, () => one.scene.accept()));
    expect((await one.listed({ state: 'scheduled', limit: 1 })).ids).toEqual([scheduled]);
    expect((await one.listed({ state: 'scheduled', nowMs: sendAtMs })).ids).toEqual([]);
    const due = await one.listed({ state: 'planning', nowMs: sendAtMs, limit: 1000 });
    expect([due.ids.length, due.ids.at(-1), due.next]).toEqual([601, scheduled, undefined]);
    expect((await one.listed({ state: 'finished' })).ids).toEqual([]);
  });

  it('shows whom each is for, and its result', async () => {
    await using one = await open();
    await one.scene.planned({ devices: 3 });
    const [underWay] = (await one.listed()).publishes;
    expect(underWay?.waiting).toEqual(['fcm']);
    one.scene.nowMs += 4000;
    await one.scene.deliver('failed');
    const { publishes } = await one.listed({ nowMs: one.scene.nowMs });
    expect(publishes).toMatchObject([
      {
        state: 'finished',
        kind: 'interests',
        outline: { names: ['hello'] },
        createdAtMs: NOW_MS,
        sendAtMs: undefined,
        finishedAtMs: NOW_MS + 4000,
        counts: { planned: 3, accepted: 0, failed: 3, pruned: 0 },
        waiting: [],
        delivered: 0,
        opened: 0,
      },
    ]);
    const [{ id } = { id: undefined }] = publishes;
    if (id === undefined) throw new Error('nothing is listed');
    expect(await one.list.details(one.scene.instance, id)).toMatchObject({
      dueAtMs: NOW_MS,
      seconds: { half: 4, most: 4 },
    });
    expect(await one.list.details(one.scene.instance + 1, id)).toBeUndefined();
  });
});
