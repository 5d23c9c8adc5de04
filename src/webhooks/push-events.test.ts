import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { FakeTime } from '../../testing/fake-time.ts';
import type { OutgoingAnswer, OutgoingRequest } from '../outgoing/request.ts';
import type { InstanceWebhook } from '../push/model/instance.ts';
import { NO_COUNTS } from '../push/model/publish.ts';
import { newPublishId } from '../push/model/publish-id.ts';
import { type Database, openDatabase } from '../stores/database/database.ts';
import { StoredOutbox } from '../stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../stores/webhooks/outbox-log.ts';
import { PushWebhooks } from './push-events.ts';
import { appOf, keptLog, occupied, webhookTo } from './webhooks.fixture.ts';
import { Webhooks } from './webhooks.ts';

const INSTANCE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';
const OTHER = '0d1f8b7e-6a52-4c1e-9b5f-3f0c6a7d2e41';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const publishId = newPublishId(Date.UTC(2026, 0, 1));
const deviceId = 'web-0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a70';
const opened = { event: 'open', publishId, deviceId, userId: 'ann' } as const;

const answered = (status: number): OutgoingAnswer => ({
  result: 'answered',
  status,
  headers: new Headers(),
  body: Buffer.from(''),
});
const webhook = (more: Partial<InstanceWebhook> = {}): InstanceWebhook => ({
  url: 'https://a.test/hook',
  events: ['v1.UserNotificationOpen'],
  secret: 'geheim',
  customData: {},
  ...more,
});
const publish = (webhookUrl: string | undefined, more: object = {}) =>
  JSON.stringify({ interests: ['a'], web: {}, webhookUrl, ...more });
const STARTED_AT_MS = Date.UTC(2026, 0, 1);
const start = (body: string) => ({ id: publishId, body, atMs: STARTED_AT_MS });
const end = (body: string, atMs = Date.UTC(2026, 0, 2)) => ({
  ...start(body),
  atMs,
  startedAtMs: STARTED_AT_MS,
  counts,
});
const counts = {
  apns: NO_COUNTS,
  fcm: NO_COUNTS,
  web: { ...NO_COUNTS, planned: 3, accepted: 2, failed: 1 },
};

let database: Database;
let timers: FakeTime;
let instances: Map<string, { readonly id: string; readonly webhooks: readonly InstanceWebhook[] }>;
let sent: (OutgoingRequest & { readonly atMs: number })[];
let answer: (request: OutgoingRequest) => OutgoingAnswer | Promise<OutgoingAnswer>;
let log: ReturnType<typeof keptLog>;
let webhooks: Webhooks;
let pushEvents: PushWebhooks;
let beganMs: number;

beforeEach(async () => {
  database = await openDatabase('sqlite::memory:');
  timers = new FakeTime({ turns: 20 });
  beganMs = timers.now();
  instances = new Map();
  serve(webhook());
  sent = [];
  answer = () => answered(200);
  log = keptLog();
  webhooks = await Webhooks.open({
    outbox: new StoredOutbox(database),
    outboxLog: new StoredOutboxLog(database),
    app: () => appOf('app', [webhookTo('https://channels.test/')]),
    instance: (id) => instances.get(id),
    settings: { timeoutSeconds: 10, logDays: 7 },
    send: async (request) => {
      sent.push({ ...request, atMs: timers.now() - beganMs });
      return answer(request);
    },
    log,
    timers,
    monotonic: timers.monotonic,
    random: () => 0,
  });
  pushEvents = new PushWebhooks({
    instances: { byId: (id) => instances.get(id) },
    webhooks,
    now: () => timers.now(),
  });
});
afterEach(async () => {
  const ended = webhooks[Symbol.asyncDispose]();
  await timers.advance(5_000);
  await ended;
  await database[Symbol.asyncDispose]();
});

/** Loses what is not stored yet: storing as much as may wait takes far longer than the test. */
async function loseStore(): Promise<void> {
  await database[Symbol.asyncDispose]();
  database = await openDatabase('sqlite::memory:');
}

/** The instance has these webhooks from now on. */
function serve(...its: readonly InstanceWebhook[]): void {
  instances.set(INSTANCE, { id: INSTANCE, webhooks: its });
}

const newest = async () => {
  const [entry] = await webhooks.list({ limit: 1 });
  return webhooks.show(entry?.id ?? '');
};
const jsonOf = ({ body }: OutgoingRequest) => JSON.parse(String(body));

/** Never answers, but notices when the server gives up. */
const hang = ({ signal }: OutgoingRequest) =>
  new Promise<OutgoingAnswer>((resolve) =>
    signal?.addEventListener('abort', () => resolve({ result: 'unreachable', why: 'aborted' })),
  );

describe('an event of an instance', () => {
  it('is sent to the webhooks that want it, each with its own secret and data', async () => {
    serve(
      webhook({ customData: { tenant: 1 } }),
      webhook({ secret: 'another', customData: { tenant: 2 } }),
      webhook({ url: 'https://b.test/', events: ['v1.PublishToUsersAttempt'] }),
    );
    pushEvents.reported(INSTANCE, opened);
    await timers.advance(200);

    expect(sent).toHaveLength(2);
    for (const [index, secret] of ['geheim', 'another'].entries()) {
      const { url, headers, body, timeoutMs } = sent[index] ?? {};
      expect([url, timeoutMs]).toEqual(['https://a.test/hook', 3_000]);
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'user-agent': 'pusher-webhooks',
        'webhook-event-type': 'v1.UserNotificationOpen',
        'webhook-id-uuid': expect.stringMatching(UUID),
        'webhook-request-id-uuid': expect.stringMatching(UUID),
        'webhook-signature': createHmac('sha1', secret).update(String(body)).digest('hex'),
      });
      expect(JSON.parse(String(body)).custom_data).toEqual({ tenant: index + 1 });
    }
    const [first, second] = sent.map(({ headers }) => headers);
    expect(first?.['webhook-id-uuid']).not.toBe(second?.['webhook-id-uuid']);
    expect(first?.['webhook-request-id-uuid']).not.toBe(second?.['webhook-request-id-uuid']);
    // It is one event, which two webhooks send.
    const ids = sent.map((request) => jsonOf(request).metadata.event_id);
    expect(ids[0]).toBe(ids[1]);
  });

  it('is not sent if no webhook wants it, or the instance is unknown', async () => {
    pushEvents.reported(INSTANCE, { ...opened, event: 'delivery' });
    const nobody = { delivered: [], gatewayFailed: [], noDevices: [] };
    await pushEvents.usersAttempted(INSTANCE, { id: publishId, atMs: beganMs, ...nobody });
    pushEvents.reported(OTHER, opened);
    await timers.advance(500);
    expect(sent).toEqual([]);
    expect(pushEvents.wants(INSTANCE, 'v1.UserNotificationOpen')).toBe(true);
    expect(pushEvents.wants(INSTANCE, 'v1.PublishToUsersAttempt')).toBe(false);
    expect(pushEvents.wants(OTHER, 'v1.UserNotificationOpen')).toBe(false);
  });

  it('is retried after 10, 30, 120 and 300 seconds, then logged as failed', async () => {
    answer = () => answered(500);
    pushEvents.reported(INSTANCE, opened);
    await timers.advance(500_000);
    expect(sent.map(({ atMs }) => atMs - 100)).toEqual([0, 10_000, 40_000, 160_000, 460_000]);
    const ids = sent.map(({ headers }) => headers['webhook-request-id-uuid']);
    expect(new Set(ids).size).toBe(1);
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
    expect(await newest()).toMatchObject({
      id: ids[0],
      kind: 'push',
      ownerId: INSTANCE,
      state: 'failed',
      reason: 'HTTP 500',
      attempts: 5,
    });
    expect(log.lines).toEqual([
      expect.stringMatching(
        /^warn Webhook failed .*"instance":"6f1b0f5e-.*","host":"a.test","reason":"HTTP 500"/,
      ),
    ]);
  });

  it('fails without an answer in time, and succeeds with any 2xx', async () => {
    answer = () => ({ result: 'timeout' });
    pushEvents.reported(INSTANCE, opened);
    await timers.advance(9_000);
    answer = () => answered(302);
    await timers.advance(20_000);
    answer = () => answered(204);
    await timers.advance(60_000);
    expect(await newest()).toMatchObject({
      state: 'delivered',
      attemptLog: [
        { outcome: 'timeout' },
        { outcome: 'refused', status: 302 },
        { outcome: 'delivered', status: 204 },
      ],
    });
  });

  it('is replayed as it was, with all its tries', async () => {
    answer = () => answered(500);
    pushEvents.reported(INSTANCE, opened);
    await timers.advance(500_000);
    const { id = '' } = (await newest()) ?? {};
    expect(await webhooks.replay(id)).toBe('replayed');
    await timers.advance(20_000);
    answer = () => answered(200);
    await timers.advance(30_000);
    expect(sent).toHaveLength(8);
    expect(sent[7]?.headers).toEqual(sent[0]?.headers ?? {});
    expect(await newest()).toMatchObject({ state: 'delivered', attempts: 8 });
  });

  it('is signed with the secret that the webhook has when it is sent', async () => {
    pushEvents.reported(INSTANCE, opened);
    serve(webhook({ secret: 'rotated', events: ['v1.PublishToUsersAttempt'] }));
    await timers.advance(200);
    expect(sent[0]?.headers['webhook-signature']).toBe(
      createHmac('sha1', 'rotated').update(String(sent[0]?.body)).digest('hex'),
    );
  });

  it.each([
    ['the instance', () => instances.clear(), 'The instance was deleted'],
    [
      'the webhook',
      () => serve(webhook({ url: 'https://b.test/' })),
      'The instance no longer has this webhook',
    ],
  ])('fails when %s was deleted', async (_, change, reason) => {
    pushEvents.reported(INSTANCE, opened);
    change();
    await timers.advance(600);
    expect(sent).toEqual([]);
    expect(await newest()).toMatchObject({ state: 'failed', reason, attemptLog: [] });
  });

  it('is stored before the server ends, without its secret', async () => {
    answer = hang;
    pushEvents.reported(INSTANCE, opened);
    const ended = webhooks[Symbol.asyncDispose]();
    await timers.advance(2_000);
    await ended;
    pushEvents.reported(INSTANCE, opened);
    expect(webhooks.figures().dropped.memory).toBe(1);
    const rows: object[] = await database.read`SELECT * FROM outbox_requests`;
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain('geheim');
  });
});

describe('a publish with a webhookUrl', () => {
  it('sends a request when it starts and when it is finished', async () => {
    const body = publish('https://a.test/hook?x=1', { fcm: null });
    void pushEvents.publishStarted(INSTANCE, start(body));
    void pushEvents.publishFinished(INSTANCE, end(body));
    await timers.advance(200);
    expect(sent.map(({ url, timeoutMs }) => [url, timeoutMs])).toEqual([
      ['https://a.test/hook?x=1', 3_000],
      ['https://a.test/hook?x=1', 3_000],
    ]);
    const requestBody = JSON.parse(body);
    expect(sent.map(jsonOf)).toEqual([
      { publishId, status: 'STARTED', requestBody },
      {
        publishId,
        status: 'FINISHED',
        requestBody,
        results: { web: { numSuccessfulPublishes: 2, numFailedPublishes: 1 } },
      },
    ]);
  });

  it('sends each request once, even if it is repeated, with ids that begin with their time', async () => {
    const body = publish('https://a.test/');
    for (let time = 0; time < 3; time++) {
      // In one commit, in another, and when it was sent.
      void pushEvents.publishStarted(INSTANCE, start(body));
      void pushEvents.publishStarted(INSTANCE, start(body));
      void pushEvents.publishFinished(INSTANCE, end(body));
      if (time === 1) await timers.advance(200);
      await timers.advance(100);
    }
    expect(sent.map((request) => jsonOf(request).status)).toEqual(['STARTED', 'FINISHED']);
    expect((await webhooks.list({ limit: 9 })).map(({ id }) => id)).toEqual([
      expect.stringMatching(/^019b7c01-0400-7.*/),
      expect.stringMatching(/^019b76da-a800-7.*/),
    ]);
  });

  it('sends the end only after the start was answered or has failed', async () => {
    const body = publish('https://a.test/');
    const status = (request: OutgoingRequest) => String(jsonOf(request).status);
    // The start is refused twice; another publish of the same endpoint is not.
    let refusals = 2;
    const other = newPublishId(Date.UTC(2026, 0, 3));
    answer = (request) =>
      answered(jsonOf(request).publishId === publishId && refusals-- > 0 ? 500 : 200);
    void pushEvents.publishStarted(INSTANCE, start(body));
    void pushEvents.publishFinished(INSTANCE, end(body));
    await timers.advance(200);
    void pushEvents.publishStarted(INSTANCE, { ...start(body), id: other });
    void pushEvents.publishFinished(INSTANCE, { ...end(body), id: other });
    await timers.advance(9_000);
    expect(sent.map((request) => [jsonOf(request).publishId === other, status(request)])).toEqual([
      [false, 'STARTED'],
      [true, 'STARTED'],
      [true, 'FINISHED'],
    ]);
    sent.length = 0;
    await timers.advance(60_000);
    expect(sent.map(status)).toEqual(['STARTED', 'STARTED', 'FINISHED']);
    const [last, secondToLast] = [sent[2]?.atMs ?? 0, sent[1]?.atMs ?? 0];
    expect(last - secondToLast).toBeLessThan(1_000);
  });

  it('sends the end if the start has failed', async () => {
    answer = (request) => answered(jsonOf(request).status === 'STARTED' ? 500 : 200);
    const body = publish('https://a.test/');
    void pushEvents.publishStarted(INSTANCE, start(body));
    void pushEvents.publishFinished(INSTANCE, end(body));
    await timers.advance(500_000);
    expect(sent.map((request) => jsonOf(request).status)).toEqual([
      ...Array(5).fill('STARTED'),
      'FINISHED',
    ]);
  });

  it('sends user name and password of the URL in a header, and shows them nowhere', async () => {
    answer = () => answered(500);
    void pushEvents.publishStarted(INSTANCE, start(publish('https://ann:geheim@a.test/hook')));
    await timers.advance(500_000);
    expect(sent).toHaveLength(5);
    for (const { url, headers } of sent) {
      expect(url).toBe('https://a.test/hook');
      expect(headers['authorization']).toBe(`Basic ${btoa('ann:geheim')}`);
    }
    expect(await newest()).toMatchObject({ kind: 'publish', url: 'https://a.test/hook' });
    const shown = JSON.stringify([await newest(), await webhooks.list({ limit: 9 }), log.lines]);
    expect(shown).not.toContain('geheim');
  });

  it('fails if the instance was deleted', async () => {
    void pushEvents.publishStarted(INSTANCE, start(publish('https://a.test/')));
    instances.clear();
    await timers.advance(600);
    expect(await newest()).toMatchObject({ state: 'failed', reason: 'The instance was deleted' });
  });

  it('is required: other publishes send nothing', async () => {
    void pushEvents.publishStarted(INSTANCE, start(publish(undefined)));
    void pushEvents.publishFinished(INSTANCE, end(publish(undefined)));
    await timers.advance(500);
    expect(sent).toEqual([]);
  });
});

describe('the promise of a request', () => {
  const state = (promise: Promise<void>) => {
    let isSettled = false;
    void promise.then(() => {
      isSettled = true;
    });
    return () => isSettled;
  };
  const waiting = async () => (await webhooks.list({ limit: 9 })).length;
  const users = { delivered: ['ann'], gatewayFailed: [], noDevices: [] };

  it('settles once the request is stored', async () => {
    serve(webhook({ events: ['v1.PublishToUsersAttempt'] }));
    const some = [
      state(pushEvents.publishStarted(INSTANCE, start(publish('https://a.test/')))),
      state(pushEvents.publishFinished(INSTANCE, end(publish('https://a.test/')))),
      state(pushEvents.usersAttempted(INSTANCE, { id: publishId, atMs: beganMs, ...users })),
    ];
    await timers.advance(99);
    expect([some.map((isSettled) => isSettled()), await waiting()]).toEqual([
      [false, false, false],
      0,
    ]);
    await timers.advance(1);
    expect([some.map((isSettled) => isSettled()), await waiting()]).toEqual([
      [true, true, true],
      3,
    ]);
  });

  it('stays pending while the store fails, and settles later', async () => {
    await database.write((sql) => sql`ALTER TABLE outbox_requests RENAME TO away`);
    const isSettled = state(pushEvents.publishStarted(INSTANCE, start(publish('https://a.test/'))));
    await timers.advance(5_000);
    expect(isSettled()).toBe(false);
    await database.write((sql) => sql`ALTER TABLE away RENAME TO outbox_requests`);
    await timers.advance(1_000);
    expect([isSettled(), await waiting()]).toEqual([true, 1]);
  });

  it('settles at once if no webhook wants the event', async () => {
    await pushEvents.publishStarted(INSTANCE, start(publish(undefined)));
    await pushEvents.publishFinished(INSTANCE, end(publish(undefined)));
    await pushEvents.usersAttempted(INSTANCE, { id: publishId, atMs: beganMs, ...users });
  });

  it('never settles after the end', async () => {
    const ended = webhooks[Symbol.asyncDispose]();
    await timers.advance(5_000);
    await ended;
    const isSettled = state(pushEvents.publishStarted(INSTANCE, start(publish('https://a.test/'))));
    await timers.advance(5_000);
    expect(isSettled()).toBe(false);
  });
});

describe('kinds of webhooks', () => {
  it('do not delay each other', async () => {
    serve(...Array.from({ length: 100 }, (_, n) => webhook({ url: `https://push-${n}.test/` })));
    answer = (request) => (request.url.includes('good') ? answered(200) : hang(request));
    pushEvents.reported(INSTANCE, opened);
    for (let n = 0; n < 200; n++) {
      void pushEvents.publishStarted(INSTANCE, start(publish(`https://publish-${n}.test/`)));
    }
    webhooks.accept([occupied('app', 'x', timers.now())]);
    await timers.advance(1_000);
    const count = (host: string) => sent.filter(({ url }) => url.includes(`//${host}`)).length;
    expect([count('push'), count('publish'), count('channels')]).toEqual([24, 8, 1]);

    // Another instance still gets its turn.
    instances.set(OTHER, { id: OTHER, webhooks: [] });
    void pushEvents.publishStarted(OTHER, start(publish('https://good.test/')));
    await timers.advance(200);
    expect(count('good')).toBe(1);
  });
});

describe('the memory for events', () => {
  it('is limited, drops are counted and logged once a minute, and their promises settle', async () => {
    for (let index = 0; index < 20_010; index++) pushEvents.reported(INSTANCE, opened);
    expect(webhooks.figures()).toMatchObject({
      unwrittenEvents: 20_000,
      dropped: { memory: 10, outbox: 0, endpoint: 0 },
    });
    expect(log.lines).toEqual([
      expect.stringContaining(`"full":"memory","events":1,"instance":"${INSTANCE}"`),
    ]);
    // Those of Channels have their own.
    webhooks.accept([occupied('app', 'x', timers.now())]);
    expect(webhooks.figures()).toMatchObject({ unwrittenEvents: 20_001, dropped: { memory: 10 } });
    await pushEvents.publishStarted(INSTANCE, start(publish('https://a.test/')));
    expect(webhooks.figures().dropped.memory).toBe(11);
    await loseStore();
  });

  it('is the same for publishes of one instance, for any number of addresses', async () => {
    answer = hang;
    for (let n = 0; n < 26_000; n++) {
      void pushEvents.publishStarted(INSTANCE, start(publish(`https://a-${n}.test/`)));
      if (n % 1_000 === 0) await timers.advance(200);
    }
    await timers.advance(200);
    expect(webhooks.figures()).toMatchObject({
      queuedRows: 25_000,
      dropped: { memory: 0, outbox: 0, endpoint: 1_000 },
    });
  });
});
