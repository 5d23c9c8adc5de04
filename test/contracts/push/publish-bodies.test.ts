import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import type { NewPublish, PublishTarget } from '../../../src/push/model/publish.ts';
import type { Database } from '../../../src/stores/database/database.ts';
import type { StoredDeliveries } from '../../../src/stores/push/jobs/delivery-store.ts';
import type { StoredPendingCompletionEvents } from '../../../src/stores/push/publishes/pending-completion-events.ts';
import type { StoredPublishes } from '../../../src/stores/push/publishes/publish-store.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { makeInstance } from '../../../testing/databases/push-instance.ts';
import { DeliveryScene, NOW_MS } from './delivery/delivery-scene.ts';
import { openPushStores } from './stores.ts';

describe.each(databases)('bodies of publishes in $name', ({ make }) => {
  let stores: Awaited<ReturnType<typeof openPushStores>>;
  let database: Database;
  let publishes: StoredPublishes;
  let deliveries: StoredDeliveries;
  let pending: StoredPendingCompletionEvents;
  let scene: DeliveryScene;
  beforeEach(async () => {
    stores = await openPushStores(make);
    ({ database, publishes, store: deliveries, pending } = stores);
    scene = new DeliveryScene(stores, await stores.newInstance());
  });
  afterEach(() => stores[Symbol.asyncDispose]());

  const at = (id: NewPublish['id']) => ({ instance: scene.instance, id, nowMs: NOW_MS });
  const hello = { kind: 'interests', names: ['hello'] } as const;

  async function bodyOf(id: NewPublish['id']): Promise<string | undefined> {
    const [row]: { body: string }[] = await database.read`
      SELECT body FROM publishes WHERE id = ${id}`;
    return row?.body;
  }

  /** Plans a publish to one device, and delivers it unless it must wait. */
  async function sent(changes: Partial<NewPublish> & { readonly target?: PublishTarget } = {}) {
    const device =
      changes.target?.kind === 'users' ? await scene.device({}, 'ann') : await scene.device();
    const publish = await scene.claimed(changes);
    const recipients = await scene.recipients(changes.target ?? hello);
    await scene.addPage(publish.number, 0, recipients);
    await deliveries.endPlanning({
      publish: publish.number,
      after: recipients.at(-1)?.number ?? 0,
      nowMs: NOW_MS,
    });
    return { ...publish, device: device.id };
  }

  it('are kept until the publish is finished, and then replaced by its outline', async () => {
    const { id, body, device } = await sent();
    const other = await scene.device();
    const key = { instance: scene.instance, id: other.id };
    await scene.stores.devices.setInterests({ ...key, interests: ['other'] });
    expect(await bodyOf(id)).toBe(body);
    await scene.deliver();
    expect(await bodyOf(id)).toBe('');
    expect(await scene.status(id)).toMatchObject({ state: 'finished' });
    expect(await scene.story(id, device)).toMatchObject({ matches: true, hasPayload: true });
    expect(await scene.story(id, other.id)).toMatchObject({ page: 'none', matches: false });
    const iphone = await scene.device({ platform: 'apns' });
    expect(await scene.story(id, iphone.id)).toMatchObject({ matches: true, hasPayload: false });
  });

  it('are kept until the completion events are stored', async () => {
    const webhookUrl = 'https://example.org/hook';
    const body = JSON.stringify({ interests: ['hello'], fcm: {}, webhookUrl, pad: 'x' });
    const { id, number } = await sent({ webhookUrl, body });
    await scene.deliver();
    expect(await bodyOf(id)).toBe(body);
    const dueMs = NOW_MS + 60_000;
    const [end] = await pending.claim({ nowMs: dueMs, untilMs: dueMs + 60_000, limit: 5 });
    expect(end?.publish).toMatchObject({ number, body });
    await pending.remove(number);
    expect(await bodyOf(id)).toBe('');
  });

  it('of publishes to users are kept until the completion events are stored', async () => {
    const target = { kind: 'users', names: ['ann'] } as const;
    const { id, number, body, device } = await sent({ target });
    await scene.deliver();
    expect(await bodyOf(id)).toBe(body);
    await pending.remove(number);
    expect(await bodyOf(id)).toBe('');
    expect(await scene.story(id, device)).toMatchObject({ matches: true, hasPayload: true });
  });

  it('are deleted when the publish is cancelled, also during delivery', async () => {
    const waiting = await sent();
    await publishes.cancel(at(waiting.id));
    expect(await bodyOf(waiting.id)).toBe('');
    const going = await sent();
    const job = await scene.job();
    await publishes.cancel(at(going.id));
    expect(await bodyOf(going.id)).toBe('');
    await scene.finish(job);
    expect(await scene.counts(going.id)).toMatchObject({ accepted: 2 });
  });

  it('leave no names in the outline if there were very many', async () => {
    const names = Array.from({ length: 300 }, (_, n) => `interest-${n}`);
    const target = { kind: 'interests', names: [...names, 'hello'] } as const;
    const { id, device } = await sent({ target });
    const other = await scene.device();
    expect(await scene.story(id, other.id)).toMatchObject({ matches: true });
    await scene.deliver();
    expect(await scene.story(id, device)).toMatchObject({ page: 'delivered', hasPayload: true });
    expect((await scene.story(id, other.id)).matches).toBeUndefined();
  });

  it('of one instance have a common limit, until they are finished', async () => {
    const limited = async (nowMs: number, bytes: number, instance = scene.instance) => {
      const body = JSON.stringify({ interests: ['hello'], fcm: {}, pad: '' });
      const { result } = await publishes.accept({
        ...(await template()),
        id: `pubid-${crypto.randomUUID()}` as NewPublish['id'],
        instance,
        createdAtMs: nowMs,
        body: body.replace('""', `"${'x'.repeat(bytes - body.length)}"`),
        pendingBytesMax: 10_500,
      });
      return result;
    };
    // Far more than the share of the limit after which the store is read again.
    for (let n = 0; n < 10; n++) expect(await limited(NOW_MS, 990)).toBe('accepted');
    expect(await limited(NOW_MS, 990)).toBe('too-much-pending');
    expect(await limited(NOW_MS, 80)).toBe('accepted');
    expect(await limited(NOW_MS, 990, await makeInstance(database))).toBe('accepted');

    const [first]: { id: NewPublish['id'] }[] = await database.read`
      SELECT id FROM publishes WHERE body_bytes = 990 AND instance = ${scene.instance} LIMIT 1`;
    if (first !== undefined) await publishes.cancel(at(first.id));
    expect(await limited(NOW_MS + 2000, 990)).toBe('accepted');
    expect(await limited(NOW_MS + 2000, 990)).toBe('too-much-pending');
  });

  it('of one instance keep their limit, with concurrent publishes', async () => {
    const one = await template();
    const all = await Promise.all(
      Array.from({ length: 100 }, () =>
        publishes.accept({
          ...one,
          id: `pubid-${crypto.randomUUID()}` as NewPublish['id'],
          body: one.body.padEnd(100),
          pendingBytesMax: 25 * 512,
        }),
      ),
    );
    expect(all.filter(({ result }) => result === 'accepted')).toHaveLength(25);
  });

  /** A publish that is cancelled, so that its body does not count. */
  async function template(): Promise<NewPublish> {
    const publish = await scene.accept();
    await publishes.cancel(at(publish.id));
    return publish;
  }
});
