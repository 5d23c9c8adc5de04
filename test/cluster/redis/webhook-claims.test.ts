import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test';
import type { App } from '../../../src/channels/app.ts';
import { socketId } from '../../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../../src/channels/lifecycle/webhook-event.ts';
import type { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { STATE } from '../../../src/engines/redis/scripts/statements.ts';
import { CLAIM, TICK } from '../../../src/engines/redis/scripts/upkeep.ts';
import { type OwnRedis, startRedis } from '../../../testing/servers/redis.ts';
import { type LoopOptions, type RedisLoop, RedisLoops } from '../../contracts/redis-loops.ts';
import { appWith, channel } from '../../contracts/values.ts';

/** Which server reports a webhook event, and when, if answers or data of Redis are lost. */

const app: App = {
  ...appWith({}),
  webhooks: [
    {
      url: 'http://localhost/',
      events: ['member_added', 'member_removed', 'channel_occupied', 'channel_vacated'],
      batching: true,
    },
  ],
};
const room = channel('presence-room');
const GRACE_MS = 3000;

let redis: OwnRedis;
let cluster: RedisLoops;
let unread: readonly string[] = [];

beforeAll(async () => {
  redis = await startRedis();
});

afterEach(async () => {
  unread = [];
  await cluster.close();
});

afterAll(() => redis[Symbol.asyncDispose]());

async function open(
  ...loops: readonly Pick<LoopOptions, 'fate' | 'emit'>[]
): Promise<readonly RedisLoop[]> {
  cluster = new RedisLoops([redis.url], [app]);
  const opened: RedisLoop[] = [];
  for (const options of loops) opened.push(await cluster.add(options));
  return opened;
}

function comes({ engine }: RedisLoop, userId: string): Promise<boolean> {
  const member = { userId, userInfo: undefined };
  const newcomer = { socketId: socketId('1.1') };
  return engine.join({ app, channel: room, held: 1, member, newcomer }, () => undefined);
}

function goes({ engine }: RedisLoop, userId: string): Promise<void> {
  return engine.leave({ app, channel: room, held: 0, userId });
}

function textOf({ event }: AppWebhookEvent): string {
  return 'user_id' in event ? `${event.name} ${event.user_id}` : event.name;
}

/** What was reported of members, or of the channel. */
function reported(of: 'member' | 'channel' = 'member'): readonly string[] {
  const texts = unread.concat(cluster.reported().map(textOf));
  unread = texts.filter((text) => !text.startsWith(of));
  return texts.filter((text) => text.startsWith(of));
}

it('a server asks again at once for what it was handed while it could not read the answers', async () => {
  let isCut = true;
  const stated = Promise.withResolvers<void>();
  const [loop] = (await open({
    fate: (script) => {
      if (!isCut || script !== STATE) return 'answered';
      stated.resolve();
      return 'reply-lost';
    },
  })) as [RedisLoop];
  const joined = comes(loop, 'ann');
  await stated.promise;
  await cluster.settled();
  expect(reported()).toEqual([]);
  isCut = false;
  loop.gap();
  await cluster.settled();
  expect(reported()).toEqual(['member_added ann']);
  await cluster.advance(1000);
  expect(await joined).toBe(true);
  await cluster.advance(20_000);
  expect(reported()).toEqual([]);
});

it('a server takes nothing younger before it has asked for what it was handed', async () => {
  let isCut = false;
  const [loop] = (await open({
    fate: (script) => (isCut && [CLAIM, TICK].includes(script) ? 'reply-lost' : 'answered'),
  })) as [RedisLoop];
  await comes(loop, 'ann');
  await goes(loop, 'ann');
  expect(reported()).toEqual(['member_added ann']);
  // Handed out, and not received.
  isCut = true;
  await cluster.advance(GRACE_MS + 1000);
  expect(reported()).toEqual([]);
  isCut = false;
  loop.gap();
  await comes(loop, 'ann');
  await cluster.settled();
  expect(reported()).toEqual(['member_removed ann', 'member_added ann']);
});

it('a return is reported after the departure, also if the server that was to report the departure has died', async () => {
  let isFarCut = false;
  const [near, far] = (await open(
    { fate: (script) => (isFarCut && [CLAIM, TICK].includes(script) ? 'not-run' : 'answered') },
    { fate: (script) => (isFarCut && [CLAIM, TICK].includes(script) ? 'reply-lost' : 'answered') },
  )) as [RedisLoop, RedisLoop];
  await comes(far, 'ann');
  await goes(far, 'ann');
  isFarCut = true;
  await cluster.advance(GRACE_MS + 1000);
  await cluster.kill(far);
  isFarCut = false;
  expect(reported()).toEqual(['member_added ann']);
  await comes(near, 'ann');
  await cluster.advance(1000);
  expect(reported()).toEqual([]);
  await cluster.advance(10_000);
  expect(reported()).toEqual(['member_removed ann', 'member_added ann']);
});

/** A departure that one server was handed, and another one whose user has returned. */
async function returnsTooSoon() {
  const received: string[] = [];
  const unstored: (() => void)[] = [];
  const emit = (event: AppWebhookEvent, stored?: () => void) => {
    if (event.event.name.startsWith('member')) received.push(textOf(event));
    unstored.push(() => stored?.());
  };
  const store = async () => {
    for (const stored of unstored.splice(0)) stored();
    await cluster.settled();
  };
  let mayClaim = false;
  const cannotClaim = (script: RedisScript) =>
    !mayClaim && script === TICK ? 'not-run' : 'answered';
  const [near, far] = (await open({ emit, fate: cannotClaim }, { emit })) as [RedisLoop, RedisLoop];
  await comes(far, 'ann');
  await store();
  await goes(far, 'ann');
  await cluster.advance(GRACE_MS);
  expect(received).toEqual(['member_added ann', 'member_removed ann']);
  received.splice(0);
  mayClaim = true;
  await comes(near, 'ann');
  await cluster.settled();
  expect(received).toEqual([]);
  return { received, store };
}

it('a return is reported as soon as the departure is stored', async () => {
  const { received, store } = await returnsTooSoon();
  await store();
  expect(received).toEqual(['member_added ann']);
});

it('a return is reported also if a server of an earlier release has stored the departure', async () => {
  const { received } = await returnsTooSoon();
  using client = disposable(redis.url);
  for (const key of await client.keys('*}W')) {
    const events = await client.zrange(key, 0, -1);
    for (const id of events) if (id.includes('\nr\n')) await client.zrem(key, id);
  }
  await cluster.advance(12_000);
  expect(received).toEqual(['member_added ann']);
});

it('who comes back to another server and leaves again is reported as gone 3 s after that', async () => {
  const [near, far] = (await open({}, {})) as [RedisLoop, RedisLoop];
  await comes(near, 'ann');
  await goes(near, 'ann');
  await cluster.advance(GRACE_MS - 1000);
  await comes(far, 'ann');
  await goes(far, 'ann');
  await cluster.advance(GRACE_MS - 1000);
  expect(reported()).toEqual(['member_added ann']);
  await cluster.advance(1001);
  expect(reported()).toEqual(['member_removed ann']);
});

describe('when Redis loses its data', () => {
  /** All loops but these notice it later. */
  async function lose(...first: readonly RedisLoop[]): Promise<void> {
    await first[0]?.servers[0]?.commands.run(['FLUSHALL']);
    // Also sets the clock of the scripts.
    await cluster.advance(1);
    for (const { gap } of first) gap();
    await cluster.settled();
  }

  async function two(): Promise<readonly [RedisLoop, RedisLoop]> {
    return (await open({}, {})) as [RedisLoop, RedisLoop];
  }

  it('who left just before is reported as gone once, after all servers have stated what they hold', async () => {
    const [near] = await two();
    await comes(near, 'ann');
    await goes(near, 'ann');
    await cluster.advance(GRACE_MS - 1000);
    await lose(near);
    expect(reported()).toEqual(['member_added ann']);
    await cluster.advance(5000);
    expect(reported()).toEqual([]);
    await cluster.advance(20_000);
    expect(reported()).toEqual(['member_removed ann']);
    expect(reported('channel')).toEqual(['channel_occupied', 'channel_vacated']);
  });

  it('who had been reported as gone is not reported again', async () => {
    const [near, far] = await two();
    await comes(near, 'ann');
    await goes(near, 'ann');
    await cluster.advance(GRACE_MS + 1);
    await cluster.settled();
    expect(reported()).toEqual(['member_added ann', 'member_removed ann']);
    await lose(near, far);
    await cluster.advance(20_000);
    expect(reported()).toEqual([]);
  });

  it.each([
    ['before', (near: RedisLoop, far: RedisLoop) => [far, near]],
    ['after', (near: RedisLoop, far: RedisLoop) => [near, far]],
  ] as const)(
    'who left and comes back is not reported, if the new server notices the loss %s the old one',
    async (_, order) => {
      const [near, far] = await two();
      await comes(near, 'ann');
      await goes(near, 'ann');
      const [first, second] = order(near, far) as [RedisLoop, RedisLoop];
      await lose(first);
      const back = comes(far, 'ann');
      await cluster.settled();
      second.gap();
      await cluster.settled();
      expect(await back).toBe(true);
      await cluster.advance(20_000);
      expect(reported()).toEqual(['member_added ann']);
    },
  );

  it.each([0, 1])(
    'who comes back later than 3 s is reported as gone and back, if Redis loses its data %d times more',
    async (times) => {
      const [near, far] = await two();
      await comes(near, 'ann');
      await goes(near, 'ann');
      await lose(near, far);
      await cluster.advance(GRACE_MS + 1000);
      await comes(far, 'ann');
      await cluster.advance(1000);
      for (let n = 0; n < times; n++) {
        await lose(near);
        far.gap();
        await cluster.settled();
      }
      expect(reported()).toEqual(['member_added ann']);
      await cluster.advance(20_000);
      expect(reported()).toEqual(['member_removed ann', 'member_added ann']);
      expect(reported('channel')).toEqual([
        'channel_occupied',
        'channel_vacated',
        'channel_occupied',
      ]);
    },
  );

  it('who stays at one server is not reported, whatever another one has lost or sees', async () => {
    const [near, far] = await two();
    for (const userId of ['ann', 'bob']) await comes(near, userId);
    await comes(far, 'ann');
    await goes(far, 'ann');
    expect(reported()).toEqual(['member_added ann', 'member_added bob']);
    await lose(far);
    // A second connection, before Redis knows of the first again.
    await comes(far, 'bob');
    await cluster.settled();
    near.gap();
    await cluster.advance(20_000);
    expect(reported()).toEqual([]);
  });

  it('who was still coming is reported afterwards', async () => {
    let isLost = true;
    const fate = (script: RedisScript) => (isLost && script === STATE ? 'not-run' : 'answered');
    const [near] = (await open({ fate })) as [RedisLoop];
    const coming = comes(near, 'ann');
    await cluster.settled();
    isLost = false;
    await lose(near);
    await cluster.advance(20_000);
    expect(await coming).toBe(true);
    expect(reported()).toEqual(['member_added ann']);
    expect(reported('channel')).toEqual(['channel_occupied']);
  });

  it('who was reported as gone too early, because their server was cut off, is reported as back', async () => {
    const [near, far] = await two();
    for (const loop of [near, far]) await comes(loop, 'ann');
    await comes(near, 'bob');
    await cluster.settled();
    expect(reported()).toEqual(['member_added ann', 'member_added bob']);
    cluster.suspend(near);
    await lose(far);
    await goes(far, 'ann');
    await cluster.advance(30_000);
    expect(reported()).toEqual(['member_removed ann']);
    cluster.resume(near);
    await cluster.advance(30_000);
    expect(reported()).toEqual(['member_added ann']);
    expect(reported('channel')).toEqual([
      'channel_occupied',
      'channel_vacated',
      'channel_occupied',
    ]);
  });

  it('who left a server that was cut off just then is not reported as gone again', async () => {
    const [near, far] = await two();
    await comes(near, 'ann');
    await goes(near, 'ann');
    cluster.suspend(near);
    await cluster.advance(GRACE_MS + 3000);
    expect(reported()).toEqual(['member_added ann', 'member_removed ann']);
    await lose(far);
    cluster.resume(near);
    await cluster.advance(30_000);
    expect(reported()).toEqual([]);
    await comes(near, 'ann');
    await cluster.settled();
    expect(reported()).toEqual(['member_added ann']);
    expect(reported('channel')).toEqual([
      'channel_occupied',
      'channel_vacated',
      'channel_occupied',
    ]);
  });

  it('who was reported as gone before that, because their server was cut off, is reported as back', async () => {
    const [near, far] = await two();
    await comes(near, 'ann');
    cluster.suspend(near);
    await cluster.advance(25_000);
    expect(reported()).toEqual(['member_added ann', 'member_removed ann']);
    await lose(far);
    cluster.resume(near);
    await cluster.advance(30_000);
    expect(reported()).toEqual(['member_added ann']);
    expect(reported('channel')).toEqual([
      'channel_occupied',
      'channel_vacated',
      'channel_occupied',
    ]);
  });

  it('who was reported as gone and as back before that is not reported again, although nobody reached it for long', async () => {
    let isAway = false;
    const fate = (): 'not-run' | 'answered' => (isAway ? 'not-run' : 'answered');
    const [near, far] = (await open({ fate }, { fate })) as [RedisLoop, RedisLoop];
    await comes(near, 'ann');
    await goes(near, 'ann');
    await cluster.advance(GRACE_MS + 1);
    await comes(far, 'ann');
    await cluster.settled();
    expect(reported()).toEqual(['member_added ann', 'member_removed ann', 'member_added ann']);
    isAway = true;
    await cluster.advance(30_000);
    isAway = false;
    await lose(near, far);
    await cluster.advance(30_000);
    expect(reported()).toEqual([]);
  });

  it('who comes and who left are reported once, also if it loses them again', async () => {
    const [near, far] = await two();
    await comes(near, 'ann');
    await goes(near, 'ann');
    expect(reported()).toEqual(['member_added ann']);
    await lose(near, far);
    for (const loop of [near, far]) await comes(loop, 'bob');
    await cluster.advance(2000);
    expect(reported()).toEqual([]);
    await lose(near, far);
    await cluster.advance(20_000);
    expect(reported().toSorted()).toEqual(['member_added bob', 'member_removed ann']);
    expect(reported('channel')).toEqual(['channel_occupied']);
  });

  describe('and loses them again before the arrivals since are reported', () => {
    const ADDED = ['member_added ann', 'channel_occupied'];
    const GONE = ['member_removed ann', 'channel_vacated'];

    /** Both lose them, in this order, and all is reported that waits. */
    async function loseAgain(first: RedisLoop, second: RedisLoop): Promise<readonly string[]> {
      expect(reported()).toEqual([]);
      await lose(first);
      second.gap();
      await cluster.advance(30_000);
      return [...reported(), ...reported('channel')];
    }

    describe.each([
      ['before', (near: RedisLoop, far: RedisLoop) => [near, far]],
      ['after', (near: RedisLoop, far: RedisLoop) => [far, near]],
    ] as const)('if the first server notices that %s the second', (_, order) => {
      it.each([1000, 2900])('who moved to the second is reported once', async (stayedMs) => {
        const [near, far] = await two();
        await lose(near, far);
        await comes(near, 'ann');
        await cluster.advance(stayedMs);
        await goes(near, 'ann');
        await cluster.advance(1000);
        await comes(far, 'ann');
        await cluster.advance(4000);
        const [first, second] = order(near, far) as [RedisLoop, RedisLoop];
        expect(await loseAgain(first, second)).toEqual(ADDED);
        await goes(far, 'ann');
        await cluster.advance(20_000);
        expect([...reported(), ...reported('channel')]).toEqual(GONE);
      });

      it('who was at both and left the first is reported once, though the answer to the second was lost', async () => {
        let answer: PromiseWithResolvers<void> | undefined;
        const fate = (script: RedisScript) => {
          if (answer === undefined || script !== STATE) return 'answered';
          answer.resolve();
          answer = undefined;
          return 'reply-lost';
        };
        const [near, far] = (await open({}, { fate })) as [RedisLoop, RedisLoop];
        await lose(near, far);
        await comes(near, 'ann');
        const lost = Promise.withResolvers<void>();
        answer = lost;
        const coming = comes(far, 'ann');
        await lost.promise;
        await cluster.settled();
        await cluster.advance(1000);
        expect(await coming).toBe(true);
        await goes(near, 'ann');
        await cluster.advance(1000);
        const [first, second] = order(near, far) as [RedisLoop, RedisLoop];
        expect(await loseAgain(first, second)).toEqual(ADDED);
      });

      it('who came to both and left is reported as added and as gone', async () => {
        const [near, far] = await two();
        await lose(near, far);
        await comes(near, 'ann');
        await cluster.advance(3000);
        await comes(far, 'ann');
        await goes(near, 'ann');
        await cluster.advance(1000);
        await goes(far, 'ann');
        await cluster.advance(500);
        const [first, second] = order(near, far) as [RedisLoop, RedisLoop];
        expect((await loseAgain(first, second)).toSorted()).toEqual([...ADDED, ...GONE].toSorted());
      });

      it('who had been there before is reported only as gone', async () => {
        const [near, far] = await two();
        await comes(far, 'ann');
        await cluster.settled();
        expect([...reported(), ...reported('channel')]).toEqual(ADDED);
        await lose(near);
        // Before the other one has said that it is known already.
        await comes(near, 'ann');
        await goes(near, 'ann');
        far.gap();
        await cluster.settled();
        await goes(far, 'ann');
        await cluster.advance(500);
        const [first, second] = order(near, far) as [RedisLoop, RedisLoop];
        expect(await loseAgain(first, second)).toEqual(GONE);
      });
    });

    it('who leaves and is back at another server when that has noticed it is reported once', async () => {
      const [near, far] = await two();
      await lose(near, far);
      await comes(near, 'ann');
      await cluster.advance(4000);
      await goes(near, 'ann');
      await lose(near, far);
      await cluster.advance(1000);
      await comes(far, 'ann');
      await cluster.advance(30_000);
      expect([...reported(), ...reported('channel')]).toEqual(ADDED);
    });
  });

  it('who has left is reported as gone, also if their server asks for that before it notices', async () => {
    const [near, far] = await two();
    await comes(near, 'ann');
    await comes(far, 'bob');
    await goes(near, 'ann');
    await cluster.advance(GRACE_MS - 100);
    expect(reported()).toEqual(['member_added ann', 'member_added bob']);
    await near.servers[0]?.commands.run(['FLUSHALL']);
    await cluster.advance(30_000);
    expect(reported()).toEqual(['member_removed ann']);
  });
});

function disposable(url: string) {
  const client = new Bun.RedisClient(url);
  return Object.assign(client, { [Symbol.dispose]: () => client.close() });
}
