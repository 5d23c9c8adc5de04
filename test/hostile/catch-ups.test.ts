import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { startRedis } from '../../testing/servers/redis.ts';
import { type AppClient, TestApp } from '../../testing/servers/test-app.ts';
import { expectCalm, pingDuring } from './neighbour.ts';

/** Clients that have the server send them as much as they can: few bytes up, many down. */

const PER_SECOND = 20;
/** Twice the channels of a connection. In frames of 4 KiB. */
const BURST = 200;
const FRAME_BYTES = 4096;
/** The events of a history, and what each carries. */
const EVENTS = 100;
const DATA = 'x'.repeat(4000);
const HISTORY_BYTES = EVENTS * (DATA.length + 100);
/** How often the attacker subscribes. Each time, it could get a whole history. */
const TIMES = 60;
/** For how long a server remembers at least that a connection has resumed after an event. */
const REMEMBERED_SECONDS = 9;
const MEMBERS = 60;
const USER_INFO = 'x'.repeat(900);

const LOUD = {
  id: 'loud',
  keys: [{ key: 'loud-key', secret: 'loud-secret' }],
  limits: { channelsPerConnection: BURST / 2, eventDataBytes: 300_000, eventsPerBatch: EVENTS },
  history: [
    { channels: 'kept-*', events: EVENTS },
    { channels: 'replayed', events: EVENTS, replay: EVENTS },
  ],
};

interface Answer {
  readonly batch: readonly { readonly event_id: string }[];
}

interface Attack {
  readonly channel: string;
  /** What the attacker adds to its nth subscription. */
  readonly more?: (n: number, client: AppClient) => object;
}

const engines = {
  'one server': async () => ({}),
  'a server over Redis': async (parts: AsyncDisposableStack) => {
    const { url } = parts.use(await startRedis());
    return { engine: { type: 'redis', url }, push: { port: 0, instances: [] } };
  },
};

for (const [name, engine] of Object.entries(engines)) {
  describe(`${name} sends a client no more than its rate allows, if it subscribes again and again to`, () => {
    const parts = new AsyncDisposableStack();
    let server: Fanfare;
    let app: TestApp;
    let honest: RawClient;
    const ids: string[] = [];
    const asMember = (client: AppClient, userId: string) => {
      const data = { user_id: userId, user_info: { name: USER_INFO } };
      return app.auth(client, 'presence-full', JSON.stringify(data));
    };
    beforeAll(async () => {
      server = parts.use(
        await startFanfare({
          onlyOne: 'address-limits',
          channels: { framesPerSecond: PER_SECOND },
          config: await engine(parts),
          moreApps: [LOUD],
        }),
      );
      honest = parts.use(await RawClient.connect(server, { transport: 'ws' }));
      await honest.subscribe('mine');
      app = new TestApp(server, { id: LOUD.id, key: 'loud-key', secret: 'loud-secret' });
      for (const channel of ['kept-one', 'replayed']) {
        const batch = Array.from({ length: EVENTS }, () => ({ name: 'e', channel, data: DATA }));
        const answer = (await (await app.post('/batch_events', { batch })).json()) as Answer;
        if (channel === 'kept-one') ids.push(...answer.batch.map(({ event_id }) => event_id));
      }
      await app.trigger({ name: 'e', channel: 'cache-one', data: 'x'.repeat(299_000) });
      await Promise.all(
        Array.from({ length: MEMBERS }, async (_, n) => {
          const client = parts.use(await app.connect({ transport: 'ws' }));
          client.handOver(() => undefined);
          const data = { channel: 'presence-full', ...asMember(client, `member-${n}`) };
          client.send({ event: 'pusher:subscribe', data });
        }),
      );
    }, 180_000);
    afterAll(() => parts.disposeAsync());

    /** Sends all subscriptions at once and a ping, and returns how much came until its answer. */
    async function attack(transport: 'ws' | 'xhr_streaming', { channel, more }: Attack) {
      await using client = await app.connect({ transport });
      const messages = Array.from({ length: TIMES }, (_, n) => [
        { event: 'pusher:subscribe', data: { channel, ...more?.(n, client) } },
        { event: 'pusher:unsubscribe', data: { channel } },
      ]).flat();
      const ponged = Promise.withResolvers<void>();
      let bytes = 0;
      client.handOver((frame) => {
        bytes += frame.length;
        if (frame.startsWith('{"event":"pusher:pong"')) ponged.resolve();
      });
      const began = performance.now();
      client.sendTogether([...messages, { event: 'pusher:ping', data: {} }]);
      await ponged.promise;
      const seconds = (performance.now() - began) / 1000;
      // What it may be sent at its rate, and what the answer that reached the limit took.
      const most = FRAME_BYTES * (BURST + PER_SECOND * (seconds + 1)) + HISTORY_BYTES;
      return { bytes, most, seconds };
    }

    const otherEvents = {
      channel: 'kept-one',
      more: (n: number) => ({ resume_after_id: ids[n % 10] }),
    };
    const attacks: Readonly<Record<string, () => ReturnType<typeof attack>>> = {
      'other events of a history': () => attack('ws', otherEvents),
      'the same over HTTP': () => attack('xhr_streaming', otherEvents),
      'a replay': () => attack('ws', { channel: 'replayed' }),
      'a cached event': () => attack('ws', { channel: 'cache-one' }),
      'many members': () =>
        attack('ws', {
          channel: 'presence-full',
          more: (_, client) => asMember(client, 'member-0'),
        }),
    };

    it('what sends it much each time, on connections of every kind', async () => {
      const pinged = await pingDuring(server, honest, () =>
        Promise.all(
          Object.entries(attacks).map(async ([what, run]) => ({ what, ...(await run()) })),
        ),
      );
      for (const { what, bytes, most } of pinged.result) {
        expect({ what, isTooMuch: bytes > most }).toEqual({ what, isTooMuch: false });
        // Otherwise nothing was limited.
        expect(bytes).toBeGreaterThan((FRAME_BYTES * BURST) / 4);
      }
      expectCalm(pinged);
    });

    it('a channel after the same event: it gets the history once', async () => {
      const { bytes, seconds } = await attack('ws', {
        channel: 'kept-one',
        more: () => ({ resume_after_id: ids[0] }),
      });
      expect(bytes).toBeGreaterThan(HISTORY_BYTES / 2);
      // On a slow machine, the server may have forgotten the first time before the last one.
      const times = 1 + Math.floor(seconds / REMEMBERED_SECONDS);
      expect(bytes).toBeLessThan(times * HISTORY_BYTES + TIMES * 300);
    });

    it('has served others meanwhile, and has said why clients wait', async () => {
      await server.logged(/A subscription waits.*channels\.framesPerSecond/);
      await trigger(server, { name: 'e', channel: 'mine', data: 'still here' });
      expect(await honest.receive()).toMatchObject({ event: 'e', data: 'still here' });
    });
  });
}

describe('a client that reconnects after a restart', () => {
  it('resumes 100 channels at once, and gets everything that it missed', async () => {
    const CHANNELS = 100;
    const MISSED = 20;
    await using server = await startFanfare({ app: { history: [{ channels: 'kept-*' }] } });
    const channels = Array.from({ length: CHANNELS }, (_, n) => `kept-${n}`);
    let ids: Readonly<Record<string, string>> = {};
    const publish = async () => {
      const event = { name: 'e', channels, data: 'x'.repeat(400) };
      return JSON.parse(await trigger(server, event)).event_ids;
    };
    ids = await publish();
    for (let n = 0; n < MISSED; n++) await publish();
    await using client = await RawClient.connect(server);
    client.sendTogether(
      channels.map((channel) => ({
        event: 'pusher:subscribe',
        data: { channel, resume_after_id: ids[channel] },
      })),
    );
    for (const channel of channels) {
      const { event, data } = await client.receive();
      expect(event).toBe('pusher_internal:subscription_succeeded');
      expect(JSON.parse(String(data)).resume).toMatchObject({ ok: true, missed: MISSED });
      for (let n = 0; n < MISSED; n++) expect(await client.receive()).toMatchObject({ channel });
    }
  });
});
