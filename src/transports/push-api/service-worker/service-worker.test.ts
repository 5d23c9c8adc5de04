import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../../testing/any-character.ts';
import {
  BeamsWorker,
  ENDPOINT,
  type Hooked,
  messageWith,
  NOTIFICATION,
  PUSHER,
} from './beams-worker.fixture.ts';
import { serviceWorkerScript } from './service-worker.ts';

describe('a push', () => {
  it('is shown, and reported as delivered', async () => {
    const worker = new BeamsWorker();

    await worker.pushed(messageWith(NOTIFICATION));

    expect(worker.shown).toEqual([
      {
        title: 'Hi!',
        options: {
          body: 'All of it',
          icon: '/icon.png',
          data: {
            pusher: {
              customerPayload: { notification: NOTIFICATION, data: { order: 7 } },
              pusherMetadata: PUSHER,
            },
          },
        },
      },
    ]);
    expect(worker.reports).toEqual([
      {
        url: `${ENDPOINT}/reporting_api/v2/instances/${PUSHER.instanceId}/events`,
        body: {
          event: 'delivery',
          publishId: 'pubid-1',
          deviceId: 'web-1',
          userId: 'ann',
          timestampSecs: 1_700_000_000,
          appInBackground: true,
          hasDisplayableContent: true,
          hasData: true,
        },
      },
    ]);
    expect(worker.databasesOpen).toBe(0);
    expect(worker.warnings).toEqual([]);
  });

  it('is shown with an empty title and body if it has none', async () => {
    const worker = new BeamsWorker();
    await worker.pushed(messageWith({}));
    expect(worker.shown).toMatchObject([{ title: '', options: { body: '' } }]);
  });

  it('without a notification is shown with the name of the site and replaces the previous one', async () => {
    const worker = new BeamsWorker();

    await worker.pushed(messageWith(undefined));

    expect(worker.shown).toMatchObject([
      { title: 'shop.example', options: { tag: 'pusher-data-only', silent: true } },
    ]);
    expect(worker.reports).toHaveLength(1);
    expect(await worker.click()).toBe(true);
    expect(worker.reports).toMatchObject([{}, { body: { event: 'open' } }]);
  });

  for (const [what, text] of [
    ['nothing in it', null],
    ['no JSON in it', 'hello'],
    ['null in it', 'null'],
    ['no data', '{"notification":{"title":"theirs"}}'],
    ['data of another sender', '{"notification":{"title":"theirs"},"data":{"order":7}}'],
  ] as const) {
    it(`with ${what} is ignored, for the rest of the site's worker`, async () => {
      const worker = new BeamsWorker();
      worker.beams.onNotificationReceived = () => {
        throw new Error('It was not to be called');
      };

      await worker.push(text);

      expect([worker.shown, worker.reports]).toEqual([[], []]);
    });
  }

  it('reports whether a window of the site is in the foreground', async () => {
    const hidden = { url: 'https://shop.example/', visibilityState: 'hidden' } as const;
    for (const [windows, appInBackground] of [
      [[hidden, { ...hidden, visibilityState: 'visible' as const }], false],
      [[hidden], true],
    ] as const) {
      const worker = new BeamsWorker({ windows });
      await worker.pushed(messageWith(NOTIFICATION));
      expect(worker.reports).toMatchObject([{ body: { appInBackground } }]);
    }
  });

  it('is hidden on request while a window of the site has the focus', async () => {
    const asks = { ...NOTIFICATION, hide_notification_if_site_has_focus: true };
    const here = [{ url: 'https://shop.example/', focused: true }];
    for (const [notification, windows, shown] of [
      [asks, here, 0],
      [asks, [{ url: 'https://shop.example/', focused: false }], 1],
      [{ ...asks, hide_notification_if_site_has_focus: 'true' }, here, 1],
      [NOTIFICATION, here, 1],
    ] as const) {
      const worker = new BeamsWorker({ windows });
      await worker.pushed(messageWith(notification));
      expect(worker.shown).toHaveLength(shown);
      expect(worker.reports).toHaveLength(1);
    }
  });
});

describe('a report', () => {
  it("names no device if the site's data was cleared, and leaves a database that the SDK can use", async () => {
    const worker = new BeamsWorker({ device: 'none' });

    await worker.pushed(messageWith(NOTIFICATION));

    expect(worker.reports).toMatchObject([{ body: { deviceId: null, userId: null } }]);
    expect(worker.stores).toEqual([['beams', { keyPath: 'instance_id' }]]);
  });

  it('leaves out what the server did not send', async () => {
    const worker = new BeamsWorker();
    const { instanceId, publishId } = PUSHER;
    await worker.pushed({ notification: {}, data: { pusher: { instanceId, publishId } } });
    const [report] = worker.reports;
    expect(Object.keys(report?.body as object).toSorted()).toEqual([
      'appInBackground',
      'deviceId',
      'event',
      'publishId',
      'timestampSecs',
      'userId',
    ]);
  });

  it('is not sent if the instance or the publish is unknown', async () => {
    for (const pusher of [true, {}, { instanceId: 'a' }, { publishId: 'b' }]) {
      const worker = new BeamsWorker();
      await worker.pushed({ notification: NOTIFICATION, data: { pusher } });
      expect(worker.shown).toHaveLength(1);
      expect(worker.reports).toEqual([]);
      expect(worker.warnings).toEqual([]);
    }
  });

  for (const [what, options, reports] of [
    ['the database cannot be read', { device: 'broken' }, 0],
    ['the server cannot be reached', { answer: () => Promise.reject(new Error('Away')) }, 1],
    ['the server refuses', { answer: async () => new Response('', { status: 400 }) }, 1],
  ] as const) {
    it(`fails with a warning if ${what}, and the notification is still shown`, async () => {
      const worker = new BeamsWorker(options);

      await worker.pushed(messageWith(NOTIFICATION));

      expect(worker.shown).toHaveLength(1);
      expect(worker.reports).toHaveLength(reports);
      expect(worker.warnings).toHaveLength(1);
    });
  }

  it('goes to the server that the site names', async () => {
    const worker = new BeamsWorker();
    worker.beams.endpointOverride = 'https://elsewhere.example/';
    await worker.pushed(messageWith(NOTIFICATION));
    worker.beams.endpointOverride = null;
    await worker.pushed(messageWith(NOTIFICATION));
    expect(worker.reports.map(({ url }) => new URL(url).origin)).toEqual([
      'https://elsewhere.example',
      ENDPOINT,
    ]);
  });

  it('can be sent or withheld by the site itself', async () => {
    const worker = new BeamsWorker();
    const state = { instanceId: 'a/b', publishId: 'pubid-2', deviceId: 'web-2' };
    await worker.beams.reportEvent({ eventType: 'open', state });
    expect(worker.reports).toEqual([
      {
        url: `${ENDPOINT}/reporting_api/v2/instances/a%2Fb/events`,
        body: {
          event: 'open',
          publishId: 'pubid-2',
          deviceId: 'web-2',
          timestampSecs: 1_700_000_000,
        },
      },
    ]);

    worker.beams.reportEvent = async () => undefined;
    await worker.pushed(messageWith(NOTIFICATION));
    expect(worker.reports).toHaveLength(1);
  });
});

describe("the site's own decision", () => {
  it('is asked for with the payload, the event, the default handler and the state', async () => {
    const worker = new BeamsWorker();
    const asked: Hooked[] = [];
    worker.beams.onNotificationReceived = (hooked) => asked.push(hooked);

    const event = await worker.pushed(messageWith(NOTIFICATION));

    expect(worker.shown).toEqual([]);
    const [hooked] = asked;
    expect(asked).toHaveLength(1);
    expect(hooked?.payload).toEqual({ notification: NOTIFICATION, data: { order: 7 } });
    expect(hooked?.pushEvent).toBe(event);
    expect(await hooked?.statePromise).toEqual({
      instanceId: PUSHER.instanceId,
      publishId: 'pubid-1',
      deviceId: 'web-1',
      userId: 'ann',
      appInBackground: true,
      hasDisplayableContent: true,
      hasData: true,
    });
    expect(worker.reports).toHaveLength(1);
  });

  it('may show something else', async () => {
    const worker = new BeamsWorker();
    worker.beams.onNotificationReceived = async ({ payload, handleNotification }) => {
      await Promise.resolve();
      payload.notification.title = 'Changed';
      await handleNotification(payload);
    };

    await worker.pushed(messageWith(NOTIFICATION));

    expect(worker.shown).toMatchObject([
      {
        title: 'Changed',
        options: {
          data: {
            pusher: {
              customerPayload: { notification: { title: 'Changed' }, data: { order: 7 } },
              pusherMetadata: PUSHER,
            },
          },
        },
      },
    ]);
  });
});

describe('a click', () => {
  it('closes the notification and reports it opened', async () => {
    const worker = new BeamsWorker();
    await worker.pushed(messageWith(NOTIFICATION));

    expect(await worker.click()).toBe(true);

    expect(worker.reports).toMatchObject([
      { body: { event: 'delivery' } },
      { body: { event: 'open', publishId: 'pubid-1', deviceId: 'web-1', userId: 'ann' } },
    ]);
    expect([worker.opened, worker.focused]).toEqual([[], []]);
  });

  for (const [deepLink, address] of [
    ['https://shop.example', 'https://shop.example/'],
    ['/orders/7', 'https://shop.example/orders/7'],
  ] as const) {
    it(`focuses the window at ${deepLink}, or opens a new one`, async () => {
      const message = messageWith({ ...NOTIFICATION, deep_link: deepLink });
      const elsewhere = { url: 'https://shop.example/elsewhere' };

      const without = new BeamsWorker({ windows: [elsewhere] });
      await without.pushed(message);
      expect(await without.click()).toBe(true);
      expect([without.opened, without.focused]).toEqual([[address], []]);

      const open = new BeamsWorker({ windows: [elsewhere, { url: address }] });
      await open.pushed(message);
      expect(await open.click()).toBe(true);
      expect([open.opened, open.focused]).toEqual([[], [address]]);
    });
  }

  it('on another notification is left to the rest of the worker', async () => {
    for (const data of [null, {}, { order: 7 }]) {
      const worker = new BeamsWorker();
      expect(await worker.click(data)).toBe(false);
      expect(worker.reports).toEqual([]);
    }
  });

  it('on a notification of an older worker still closes it', async () => {
    const worker = new BeamsWorker();
    expect(await worker.click({ pusher: {} })).toBe(true);
    expect(worker.reports).toEqual([]);
  });
});

describe('the endpoint', () => {
  it('is in the script as a literal that cannot be escaped from', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: anyCharacter }),
          fc.constant('"); alert(1);//</script>\u2028\u2029'),
        ),
        (endpoint) => {
          expect(new BeamsWorker({}, endpoint).beams.endpointOverride).toBe(endpoint);
          expect(serviceWorkerScript(endpoint)).not.toMatch(/<\/script|[\u2028\u2029]/);
        },
      ),
      { numRuns: 50 },
    );
  });
});
