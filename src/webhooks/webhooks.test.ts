import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import type { App } from '../channels/app.ts';
import type { OutgoingAnswer, OutgoingRequest } from '../outgoing/request.ts';
import type { PushInstance } from '../push/model/instance.ts';
import { type Database, openDatabase } from '../stores/database/database.ts';
import { StoredOutbox } from '../stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../stores/webhooks/outbox-log.ts';
import {
  answered,
  appOf,
  channelOf,
  hang,
  keptLog,
  occupied,
  webhookTo,
} from './webhooks.fixture.ts';
import { Webhooks } from './webhooks.ts';

let database: Database;
let timers: FakeTime;
let apps: Map<string, App>;
let instances: Map<string, Pick<PushInstance, 'id' | 'webhooks'>>;
let sent: (OutgoingRequest & { readonly atMs: number })[];
let answer: (request: OutgoingRequest) => OutgoingAnswer | Promise<OutgoingAnswer>;
let log: ReturnType<typeof keptLog>;
let webhooks: Webhooks;
let beganMs: number;

beforeEach(async () => {
  database = await openDatabase('sqlite::memory:');
  timers = new FakeTime({ turns: 20 });
  beganMs = timers.now();
  apps = new Map([['app', appOf('app', [webhookTo('https://a.test/hook')])]]);
  instances = new Map();
  sent = [];
  answer = () => answered(200, 'thanks');
  log = keptLog();
  webhooks = await open();
});
afterEach(async () => {
  await end(webhooks);
  await database[Symbol.asyncDispose]();
});

async function end(one: Webhooks, ms = 5_000): Promise<void> {
  const ended = one[Symbol.asyncDispose]();
  await timers.advance(ms);
  await ended;
}

/** Loses what is not stored yet: storing as much as may wait takes far longer than the test. */
async function loseStore(): Promise<void> {
  await database[Symbol.asyncDispose]();
  database = await openDatabase('sqlite::memory:');
}

function open(logDays = 7, outbox = new StoredOutbox(database), shared = false): Promise<Webhooks> {
  return Webhooks.open({
    outbox,
    outboxLog: new StoredOutboxLog(database),
    app: (id) => apps.get(id),
    instance: (id) => instances.get(id),
    settings: { timeoutSeconds: 10, logDays },
    shared,
    send: async (request) => {
      sent.push({ ...request, atMs: timers.now() - beganMs });
      return answer(request);
    },
    log,
    timers,
    monotonic: timers.monotonic,
    random: () => 0,
  });
}

const accept = (channel: string, appId = 'app') =>
  webhooks.accept([occupied(appId, channel, timers.now())]);
const newest = async () => {
  const [entry] = await webhooks.list({ limit: 1 });
  return webhooks.show(entry?.id ?? '');
};

describe('an event that servers of a cluster may report again', () => {
  const event = (id: string, channel = id) => ({ ...occupied('app', channel, beganMs), id });
  const heard = () => sent.flatMap(({ body }) => JSON.parse(String(body)).events);

  it('is sent once, and both are notified that it is over when it is stored', async () => {
    const other = await open(7, new StoredOutbox(database), true);
    const over: string[] = [];
    webhooks.accept([event('a'), event('b')], (id) => over.push(id));
    // Two loops of one server have reported it.
    webhooks.accept([event('b')], (id) => over.push(id));
    expect(over).toEqual([]);
    await timers.advance(200);
    expect(over).toEqual(['a', 'b', 'b']);
    other.accept([event('b'), event('c')], (id) => over.push(`other ${id}`));
    await timers.advance(200);
    expect(over.slice(3)).toEqual(['other b', 'other c']);
    expect(heard().map(({ channel }) => channel)).toEqual(['a', 'b', 'c']);
    await end(other);
  });

  it('is over at once if nobody wants it or it is dropped', async () => {
    const over: string[] = [];
    apps.set('none', appOf('none', []));
    webhooks.accept([{ ...event('a'), appId: 'none' }], (id) => over.push(id));
    expect(over).toEqual(['a']);
    const many = Array.from({ length: 20_001 }, (_, n) => event(`e${n}`));
    webhooks.accept(many, (id) => over.push(id));
    expect(over).toEqual(['a', 'e20000']);
    await loseStore();
  });

  it('is remembered for ten minutes', async () => {
    const shared = await open(7, new StoredOutbox(database), true);
    shared.accept([event('a')]);
    await timers.advance(590_000);
    shared.accept([event('a')]);
    await timers.advance(1_000);
    expect(heard()).toHaveLength(1);
    await timers.advance(70_000);
    shared.accept([event('a')]);
    await timers.advance(1_000);
    expect(heard()).toHaveLength(2);
    await end(shared);
  });
});

describe('a webhook', () => {
  it('is stored and sent within 250 ms, and then in the log', async () => {
    accept('one');
    expect(webhooks.figures()).toMatchObject({ unwrittenEvents: 1, queuedRows: 0 });
    await timers.advance(200);

    expect(sent).toMatchObject([
      {
        url: 'https://a.test/hook',
        headers: { 'content-type': 'application/json', 'x-pusher-key': 'app-key' },
        body: `{"time_ms":${beganMs},"events":[{"name":"channel_occupied","channel":"one"}]}`,
        timeoutMs: 10_000,
      },
    ]);
    await timers.advance(200);
    expect(await newest()).toMatchObject({
      ownerId: 'app',
      state: 'delivered',
      reason: 'HTTP 200',
      body: sent[0]?.body,
      attemptLog: [{ number: 1, outcome: 'delivered', status: 200, answer: 'thanks' }],
    });
    expect(webhooks.figures()).toMatchObject({ queuedRows: 0, queuedBytes: 0, oldestAgeMs: 0 });
  });

  it('is retried for five minutes, then fails and is logged', async () => {
    answer = () => answered(500, 'broken');
    accept('one');
    await timers.advance(100_000);
    expect(webhooks.figures()).toMatchObject({ queuedRows: 1, oldestAgeMs: 99_900 });
    await timers.advance(500_000);
    expect(sent.map(({ atMs }) => Math.round((atMs - 100) / 1_000))).toEqual([
      0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 300,
    ]);
    expect(await newest()).toMatchObject({ state: 'failed', reason: 'HTTP 500', attempts: 11 });
    expect(log.lines).toEqual([
      expect.stringMatching(/^warn Webhook failed .*"host":"a.test","reason":"HTTP 500"/),
    ]);
    expect(webhooks.figures().attempts).toMatchObject({ delivered: 0, refused: 11 });
  });

  it('is retried within a minute although the clock was set back by days after it failed', async () => {
    answer = () => answered(500);
    accept('late');
    await timers.advance(500);
    expect(sent).toHaveLength(1);
    answer = () => answered(200);
    timers.setClock(-2 * 86_400_000);
    await timers.advance(60_000);
    expect(sent).toHaveLength(2);
    expect(await newest()).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  it('is delivered when its endpoint recovers', async () => {
    answer = () => ({ result: 'unreachable', why: 'ECONNREFUSED' });
    accept('one');
    await timers.advance(10_000);
    answer = () => answered(204);
    await timers.advance(10_000);
    expect(await newest()).toMatchObject({
      state: 'delivered',
      attemptLog: [
        ...Array.from({ length: 4 }, () => ({ outcome: 'unreachable', answer: 'ECONNREFUSED' })),
        { outcome: 'delivered', status: 204, answer: '' },
      ],
    });
  });

  it('fails at once if its address is not allowed', async () => {
    answer = () => ({ result: 'not-allowed', why: 'loopback' });
    accept('one');
    await timers.advance(400);
    expect(await newest()).toMatchObject({ state: 'failed', reason: 'Not allowed: loopback' });
  });

  it('is signed with the key that the app has when it is sent', async () => {
    accept('one');
    const app = appOf('app', [webhookTo('https://a.test/hook')]);
    apps.set('app', { ...app, keys: [{ key: 'rotated', secret: 'x' }] });
    await timers.advance(400);
    expect(sent[0]?.headers['x-pusher-key']).toBe('rotated');
  });

  it.each([
    ['the app', () => apps.delete('app'), 'The app was deleted'],
    ['the endpoint', () => apps.set('app', appOf('app', [])), 'The app no longer has this webhook'],
  ])('fails when %s was deleted', async (_, change, reason) => {
    accept('one');
    change();
    await timers.advance(600);
    expect(sent).toEqual([]);
    expect(await newest()).toMatchObject({ state: 'failed', reason, attemptLog: [] });
    expect(webhooks.figures().queuedRows).toBe(0);
  });
});

describe('replaying', () => {
  it('sends the same body again, with all its tries', async () => {
    answer = () => answered(500);
    accept('one');
    await timers.advance(600_000);
    const first = sent.length;
    const { id = '' } = (await newest()) ?? {};

    expect(await webhooks.replay(id)).toBe('replayed');
    expect(await webhooks.replay(id)).toBe('waiting');
    expect(await webhooks.replay('unknown')).toBe('unknown');
    await timers.advance(2_000);
    answer = () => answered(200);
    await timers.advance(5_000);

    expect(sent.slice(first).map(({ body }) => body)).toEqual(new Array(3).fill(sent[0]?.body));
    expect(await newest()).toMatchObject({ state: 'delivered', attempts: first + 3 });
    expect(webhooks.figures().queuedRows).toBe(0);
  });
});

describe('endpoints', () => {
  it('do not delay each other', async () => {
    apps.set('slow', appOf('slow', [webhookTo('https://slow.test/')]));
    const hanging = Promise.withResolvers<OutgoingAnswer>();
    answer = ({ url }) => (url.includes('slow') ? hanging.promise : answered(200));
    for (let index = 0; index < 500; index++) accept(`${index}`, 'slow');
    for (let index = 0; index < 100; index++) accept(`${index}`);
    await timers.advance(200);

    expect(sent.filter(({ url }) => url.includes('slow'))).toHaveLength(4);
    expect(sent.filter(({ url }) => url.includes('a.test')).map(channelOf)).toEqual(
      Array.from({ length: 100 }, (_, index) => `${index}`),
    );
    hanging.resolve(answered(200));
    await timers.advance(400);
    expect(sent).toHaveLength(600);
    expect(webhooks.figures().queuedRows).toBe(0);
  });

  it('that all hang leave capacity for others, one request at a time', async () => {
    answer = (request) => (request.url.includes('good') ? answered(200) : hang(request));
    for (let index = 0; index < 100; index++) {
      apps.set(`bad${index}`, appOf(`bad${index}`, [webhookTo(`https://bad${index}.test/`)]));
      for (let event = 0; event < 5; event++) accept(`${event}`, `bad${index}`);
    }
    apps.set('good', appOf('good', [webhookTo('https://good.test/')]));
    for (let event = 0; event < 50; event++) accept(`${event}`, 'good');
    await timers.advance(1_000);
    expect(sent.filter(({ url }) => url.includes('good'))).toHaveLength(50);
    expect(webhooks.figures().inFlight).toBeLessThanOrEqual(128);
  });

  it('that fail get one request at a time until one succeeds', async () => {
    answer = () => answered(503);
    for (let index = 0; index < 10; index++) accept(`${index}`);
    await timers.advance(200);
    expect(sent).toHaveLength(10);

    const waiting: ((answer: OutgoingAnswer) => void)[] = [];
    answer = () => new Promise((resolve) => waiting.push(resolve));
    await timers.advance(1_500);
    expect(waiting).toHaveLength(1);
    waiting[0]?.(answered(200));
    await timers.advance(0);
    expect(waiting).toHaveLength(5);
    for (const done of waiting) done(answered(200));
    answer = () => answered(200);
    await timers.advance(1_000);
    expect(webhooks.figures().queuedRows).toBe(0);
  });
});

describe('a waiting webhook', () => {
  it('continues after a restart', async () => {
    answer = () => answered(500);
    accept('one');
    await timers.advance(5_000);
    await webhooks[Symbol.asyncDispose]();
    answer = () => answered(200);
    sent = [];
    webhooks = await open();
    expect(webhooks.figures().queuedRows).toBe(1);
    await timers.advance(10_000);
    expect(sent.map(channelOf)).toEqual(['one']);
    expect(await newest()).toMatchObject({ state: 'delivered', attempts: 4 });
  });

  it('is stored before the server ends, without waiting for requests in flight', async () => {
    answer = hang;
    accept('under way');
    await timers.advance(300);
    accept('unwritten');
    const ended = webhooks[Symbol.asyncDispose]();
    await timers.advance(1_999);
    await timers.advance(1);
    await ended;
    accept('too late');
    expect(webhooks.figures().dropped.memory).toBe(1);

    answer = () => answered(200);
    sent = [];
    webhooks = await open();
    await timers.advance(500);
    expect(sent.map(channelOf)).toEqual(['under way', 'unwritten']);
    const [, first] = await webhooks.list({ limit: 2 });
    expect(first?.attempts).toBe(1);
  });

  it('is released at the end, so that another server sends it at once', async () => {
    answer = hang;
    for (let index = 0; index < 10; index++) accept(`${index}`);
    await timers.advance(300);
    expect(sent).toHaveLength(4);
    await end(webhooks, 2_000);

    answer = () => answered(200);
    sent = [];
    webhooks = await open(7, undefined, true);
    await timers.advance(500);
    expect(sent.map(channelOf).toSorted()).toEqual([...'0123456789']);
  });

  it('is released if it was being claimed at the end', async () => {
    const gate = Promise.withResolvers<void>();
    class SlowOutbox extends StoredOutbox {
      override async claim(...wanted: Parameters<StoredOutbox['claim']>) {
        const claims = await super.claim(...wanted);
        await gate.promise;
        return claims;
      }
    }
    await webhooks[Symbol.asyncDispose]();
    webhooks = await open(7, new SlowOutbox(database));
    accept('one');
    await timers.advance(300);
    const ended = webhooks[Symbol.asyncDispose]();
    await timers.advance(10);
    gate.resolve();
    await timers.advance(2_000);
    await ended;
    expect(sent).toEqual([]);

    webhooks = await open(7, undefined, true);
    await timers.advance(500);
    expect(sent.map(channelOf)).toEqual(['one']);
  });

  it.each<[at: string, message: string, outbox: () => StoredOutbox]>([
    [
      'its body was to be read',
      'Cannot send a webhook',
      () =>
        new (class extends StoredOutbox {
          private failures = 3;
          override async body(id: string) {
            if (this.failures-- > 0) throw new Error('connection closed');
            return super.body(id);
          }
        })(database),
    ],
    [
      'the answer to its claim was lost',
      'Cannot read webhooks from the store',
      () =>
        new (class extends StoredOutbox {
          private failures = 3;
          override async claim(...wanted: Parameters<StoredOutbox['claim']>) {
            if (this.failures === 0) return super.claim(...wanted);
            if (this.failures-- === 3) await super.claim(...wanted);
            throw new Error('connection closed');
          }
          override async releaseClaim(...claim: Parameters<StoredOutbox['releaseClaim']>) {
            if (this.failures === 0) return super.releaseClaim(...claim);
            this.failures--;
            throw new Error('connection closed');
          }
        })(database),
    ],
  ])('is sent soon after the store failed when %s', async (_, message, outbox) => {
    await webhooks[Symbol.asyncDispose]();
    webhooks = await open(7, outbox(), true);
    for (const channel of ['one', 'two']) {
      accept(channel);
      await timers.advance(150);
    }
    await timers.advance(4_000);
    expect(sent.map(channelOf).toSorted()).toEqual(['one', 'two']);
    expect(await webhooks.list({ limit: 9 })).toMatchObject([
      { state: 'delivered', attempts: 1 },
      { state: 'delivered', attempts: 1 },
    ]);
    expect(log.lines).toEqual([expect.stringContaining(`error ${message}`)]);
  });

  it('is released at the end if the answer to its claim was lost', async () => {
    class DeafOutbox extends StoredOutbox {
      override async claim(...wanted: Parameters<StoredOutbox['claim']>): Promise<never> {
        await super.claim(...wanted);
        throw new Error('connection closed');
      }
    }
    await webhooks[Symbol.asyncDispose]();
    webhooks = await open(7, new DeafOutbox(database), true);
    accept('one');
    await timers.advance(300);
    await webhooks[Symbol.asyncDispose]();

    webhooks = await open(7, undefined, true);
    await timers.advance(500);
    expect(sent.map(channelOf)).toEqual(['one']);
  });

  it('is left to the server that sends it, if several use the store', async () => {
    answer = hang;
    accept('theirs');
    await timers.advance(300);
    const theirs = webhooks;

    webhooks = await open(7, undefined, true);
    accept('ours');
    await timers.advance(2_000);
    expect(sent.map(channelOf)).toEqual(['theirs', 'ours']);
    await end(theirs);
  });

  it('is kept in memory while the store fails, with one log line', async () => {
    class FailingOutbox extends StoredOutbox {
      failing = true;
      override async write(...entries: Parameters<StoredOutbox['write']>): Promise<void> {
        if (this.failing) throw new Error('disk full');
        return super.write(...entries);
      }
    }
    await webhooks[Symbol.asyncDispose]();
    const outbox = new FailingOutbox(database);
    webhooks = await open(7, outbox);
    accept('one');
    await timers.advance(10_000);
    accept('two');
    await timers.advance(10_000);
    expect(sent).toEqual([]);
    expect(log.lines).toEqual([expect.stringContaining('disk full')]);
    outbox.failing = false;
    await timers.advance(1_500);
    expect(sent.map(channelOf)).toEqual(['one', 'two']);
  });

  it('is limited in memory; drops are counted and logged once a minute', async () => {
    for (let index = 0; index < 20_010; index++) accept('x');
    expect(webhooks.figures().dropped).toEqual({ memory: 10, outbox: 0, endpoint: 0 });
    expect(log.lines).toEqual([expect.stringContaining('"full":"memory"')]);
    await loseStore();
  });

  it('is limited in the store and for each endpoint, so that others have room', async () => {
    answer = hang;
    apps.set('good', appOf('good', [webhookTo('https://good.test/')]));
    const many = Array.from({ length: 13_000 }, () => occupied('app', 'x', timers.now()));
    webhooks.accept(many);
    await timers.advance(200);
    webhooks.accept(many);
    await timers.advance(200);
    expect(webhooks.figures()).toMatchObject({
      queuedRows: 25_000,
      dropped: { memory: 0, outbox: 0, endpoint: 1_000 },
    });
    answer = () => answered(200);
    accept('fine', 'good');
    await timers.advance(200);
    expect(sent.map(channelOf)).toContain('fine');
  });
});

const DAY_MS = 86_400_000;

describe('the log', () => {
  it('is kept for its days', async () => {
    accept('old');
    await timers.advance(1_000);
    await end(webhooks);
    // No server runs for most of the day: its looks at the store would be all the work.
    await timers.advance(beganMs + 86_300_000 - timers.now());
    webhooks = await open(1);
    accept('new');
    await timers.advance(40_000);
    expect(await webhooks.list({ limit: 9 })).toHaveLength(2);
    await timers.advance(120_000);
    expect(await webhooks.list({ limit: 9 })).toHaveLength(1);
  });

  it('keeps what was sent while the clock was wrong, and is in the order of sending', async () => {
    const channels: string[] = [];
    const sends = async () => {
      const channel = `channel-${channels.length}`;
      channels.unshift(channel);
      accept(channel);
      // Long enough for its answer to be stored, and for what is old to be deleted.
      await timers.advance(60_000);
    };
    const jumps = [0, -30 * DAY_MS, 30 * DAY_MS, 30 * DAY_MS, -30 * DAY_MS, -3_600_000, 3_600_000];
    for (const byMs of jumps) {
      timers.setClock(byMs);
      await sends();
      await sends();
    }
    const listed = await webhooks.list({ limit: 100 });
    const bodies = await Promise.all(listed.map(async ({ id }) => (await webhooks.show(id))?.body));
    expect(bodies.map((body) => JSON.parse(body ?? '').events[0].channel)).toEqual(channels);
    expect(listed.map(({ state }) => state)).toEqual(channels.map(() => 'delivered'));
    // Nor is any missing in pages.
    const pages: string[] = [];
    for (let before: string | undefined; pages.length < channels.length; before = pages.at(-1)) {
      pages.push(...(await webhooks.list({ limit: 4, before })).map(({ id }) => id));
    }
    expect(pages).toEqual(listed.map(({ id }) => id));
  });

  it('continues behind its newest entry if the clock was set back before a restart', async () => {
    accept('before');
    await timers.advance(1_000);
    await end(webhooks);
    timers.setClock(-30 * DAY_MS);
    webhooks = await open();
    accept('after');
    await timers.advance(1_000);
    expect(JSON.parse((await newest())?.body ?? '').events[0].channel).toBe('after');
  });

  it('is not kept with 0 days', async () => {
    await webhooks[Symbol.asyncDispose]();
    webhooks = await open(0);
    accept('one');
    await timers.advance(60_000);
    expect(await webhooks.list({ limit: 9 })).toEqual([]);
  });
});
