import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { BeamsWorker, messageWith, PUSHER } from './beams-worker.fixture.ts';

const REPLY = { action: 'reply', title: 'Reply', icon: '/reply.png', deep_link: '/chat/7?reply' };
const MUTE = { action: 'mute', title: 'Mute' };

/** Everything that browsers show. */
const FULL = {
  title: 'Ann',
  body: 'hi',
  icon: '/icon.png',
  image: '/a.png',
  badge: '/badge.png',
  tag: 'chat-7',
  lang: 'de',
  dir: 'rtl',
  renotify: true,
  requireInteraction: true,
  silent: false,
  timestamp: 1_700_000_000_000,
  vibrate: [200, 100, 200],
};

/** The options of the notification that is shown for a published one. */
async function optionsOf(notification: object) {
  const worker = new BeamsWorker();
  await worker.pushed(messageWith(notification));
  const { data: _, ...options } = worker.shown[0]?.options ?? { data: undefined };
  return options as Record<string, unknown>;
}

describe('a notification', () => {
  it('has the options of the publish', async () => {
    const { title: _, ...options } = FULL;
    expect(await optionsOf({ ...FULL, deep_link: '/chat/7', newer: 1 })).toEqual(options);
  });

  it('has buttons, without what is ours', async () => {
    expect(await optionsOf({ actions: [REPLY, MUTE] })).toEqual({
      body: '',
      actions: [{ action: 'reply', title: 'Reply', icon: '/reply.png' }, MUTE],
    });
  });

  for (const [name, wrong] of [
    ['image', 7],
    ['badge', {}],
    ['tag', ['a']],
    ['lang', 1],
    ['dir', 'up'],
    ['renotify', 'yes'],
    ['requireInteraction', 1],
    ['silent', 'no'],
    ['timestamp', 'now'],
    ['timestamp', 1.5],
    ['vibrate', 'long'],
    ['vibrate', [1, 'x']],
    ['vibrate', -1],
    ['actions', 'reply'],
    ['actions', { 0: REPLY }],
  ] as const) {
    it(`is shown without ${name}: ${JSON.stringify(wrong)}, which browsers do not take`, async () => {
      const { title: _, [name as keyof typeof FULL]: __, ...others } = FULL;
      const expected: Record<string, unknown> = { ...others };
      // These need what was left out.
      if (name === 'tag') delete expected['renotify'];
      expect(await optionsOf({ ...FULL, [name]: wrong })).toEqual(expected);
    });
  }

  it('is shown without what browsers refuse together', async () => {
    expect(await optionsOf({ renotify: true })).toEqual({ body: '' });
    expect(await optionsOf({ renotify: true, tag: '' })).toEqual({ body: '', tag: '' });
    expect(await optionsOf({ silent: true, vibrate: 200 })).toEqual({ body: '', silent: true });
  });

  it('is shown without buttons that are none', async () => {
    const actions = [
      null,
      'reply',
      {},
      { action: 'a' },
      { title: 'b' },
      { ...REPLY, icon: 7 },
      MUTE,
    ];
    expect(await optionsOf({ actions })).toEqual({
      body: '',
      actions: [{ action: 'reply', title: 'Reply' }, MUTE],
    });
  });

  it('is shown whatever the fields are', async () => {
    const names = fc.constantFrom(...Object.keys(FULL), 'actions');
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, fc.jsonValue()), async (notification) => {
        const worker = new BeamsWorker();
        await worker.pushed(messageWith(notification));
        expect(worker.shown).toHaveLength(1);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a click on a button', () => {
  const message = messageWith({ title: 'Ann', deep_link: '/chat/7', actions: [REPLY, MUTE] });

  for (const [action, address] of [
    ['reply', 'https://shop.example/chat/7?reply'],
    ['mute', 'https://shop.example/chat/7'],
    ['unknown', 'https://shop.example/chat/7'],
    ['', 'https://shop.example/chat/7'],
  ] as const) {
    it(`opens its address, or that of the notification, and is reported: ${action || 'none'}`, async () => {
      const worker = new BeamsWorker();
      await worker.pushed(message);
      expect(await worker.click(undefined, action)).toBe(true);
      expect(worker.opened).toEqual([address]);
      expect(worker.reports.at(-1)).toMatchObject({ body: { event: 'open' } });
    });
  }

  it('is reported also if its address cannot be opened', async () => {
    for (const deep_link of ['https://', 7, {}]) {
      const worker = new BeamsWorker();
      await worker.pushed(messageWith({ actions: [{ ...REPLY, deep_link }] }));
      await worker.click(undefined, 'reply');
      expect(worker.opened).toEqual([]);
      expect(worker.reports.at(-1)).toMatchObject({ body: { event: 'open' } });
    }
  });
});

describe('the number on the icon', () => {
  const withBadge = (app_badge: unknown) => ({ ...messageWith({ title: 'Ann' }), app_badge });

  it('is set, and removed by 0', async () => {
    const worker = new BeamsWorker();
    await worker.pushed(withBadge(3));
    await worker.pushed(withBadge(0));
    expect(worker.badges).toEqual([3, 'cleared']);
  });

  it('stays if the publish says nothing about it, or nothing that is a number', async () => {
    const worker = new BeamsWorker();
    for (const wrong of [undefined, null, '3', -1, 1.5, true])
      await worker.pushed(withBadge(wrong));
    expect(worker.badges).toEqual([]);
    expect(worker.shown).toHaveLength(6);
  });

  it('is no condition for the notification, where browsers have none', async () => {
    const worker = new BeamsWorker({ badges: 'none' });
    await worker.pushed(withBadge(3));
    expect(worker.shown).toHaveLength(1);
    expect(worker.warnings).toEqual([]);
  });

  it('is set also if the site shows the notification itself', async () => {
    const worker = new BeamsWorker();
    worker.beams.onNotificationReceived = () => undefined;
    await worker.pushed(withBadge(3));
    expect([worker.badges, worker.shown]).toEqual([[3], []]);
  });
});

/** What Safari gives the worker: the notification that it would show. */
describe('a declarative push', () => {
  const PROPOSED = {
    title: 'Ann',
    body: 'hi',
    icon: 'https://shop.example/icon.png',
    tag: '',
    lang: '',
    dir: 'auto',
    silent: null,
    navigate: 'https://shop.example/chat/7',
    actions: [{ action: 'reply', title: 'Reply', navigate: 'https://shop.example/chat/7?reply' }],
    data: { order: 7, pusher: PUSHER },
  };

  it('is shown and reported like any other, with the addresses that Safari needs', async () => {
    const worker = new BeamsWorker();
    await worker.declared(PROPOSED);
    const [shown] = worker.shown;
    expect(shown?.title).toBe('Ann');
    expect(shown?.options).toMatchObject({
      body: 'hi',
      icon: 'https://shop.example/icon.png',
      navigate: 'https://shop.example/chat/7',
      actions: [{ action: 'reply', title: 'Reply', navigate: 'https://shop.example/chat/7?reply' }],
      data: { pusher: { customerPayload: { data: { order: 7 } }, pusherMetadata: PUSHER } },
    });
    expect(worker.reports).toMatchObject([{ body: { event: 'delivery', publishId: 'pubid-1' } }]);
    await worker.click(undefined, 'reply');
    expect(worker.opened).toEqual(['https://shop.example/chat/7?reply']);
    expect(worker.reports.at(-1)).toMatchObject({ body: { event: 'open' } });
  });

  it('can be changed by the site, and still has an address', async () => {
    const worker = new BeamsWorker();
    worker.beams.onNotificationReceived = async ({ payload, handleNotification }) => {
      expect(payload.data).toEqual({ order: 7 });
      await handleNotification({ ...payload, notification: { title: 'Changed' } });
    };
    await worker.declared(PROPOSED);
    expect(worker.shown).toMatchObject([
      { title: 'Changed', options: { navigate: 'https://shop.example/' } },
    ]);
  });

  it('leaves the number on the icon to Safari, in which a call of ours never settles', async () => {
    const worker = new BeamsWorker({ badges: 'silent' });
    await worker.declared({ ...PROPOSED, app_badge: 3 });
    expect([worker.badges, worker.shown.length]).toEqual([[], 1]);
  });

  it('is not kept back by a server that does not answer', async () => {
    const worker = new BeamsWorker({ answer: () => new Promise(() => undefined), now: true });
    await worker.declared(PROPOSED);
    expect([worker.reports.length, worker.shown.length]).toEqual([1, 1]);
  });

  it('that Safari has shown by itself is reported when it is opened', async () => {
    const worker = new BeamsWorker();
    expect(await worker.click(PROPOSED.data)).toBe(true);
    expect(worker.reports).toMatchObject([{ body: { event: 'open', publishId: 'pubid-1' } }]);
  });

  it('of another sender is ignored', async () => {
    const worker = new BeamsWorker();
    for (const data of [null, undefined, {}, { order: 7 }])
      await worker.declared({ ...PROPOSED, data });
    expect([worker.shown, worker.reports]).toEqual([[], []]);
  });
});
