import { describe, expect, it } from 'bun:test';
import { EngineUnavailable } from '../../../channels/engine-failure.ts';
import type { RedisEngineServer } from '../engine-server.ts';
import type { Away, RedisListener } from '../link/redis-server.ts';
import { RedisAway, RedisError, RedisUnsuitable, type Reply } from '../link/reply.ts';
import type { RedisLink } from '../redis-link.ts';
import { TICK } from '../scripts/upkeep.ts';
import { SharedLinks } from './shared-links.ts';

/** A Redis whose answers the test gives. */
class Server implements RedisEngineServer {
  readonly name: string;
  readonly place: RedisEngineServer['place'];
  opened = 0;
  closed = 0;
  followed: string[] = [];
  commands: (readonly (string | number)[])[] = [];
  listener: RedisListener | undefined;
  away: Away | undefined;
  serverId = 'first';
  /** What `open` fails with. */
  failure: Error | undefined;
  answer: () => Promise<Reply> = async () => ['ok'];

  constructor(name = 'one', tag?: string) {
    this.name = name;
    this.place = { database: 0, tag };
  }

  async open(listener: RedisListener): Promise<RedisLink> {
    this.opened++;
    if (this.failure !== undefined) throw this.failure;
    this.listener = listener;
    const server = this;
    return {
      get away() {
        return server.away;
      },
      master: this.name,
      get serverId() {
        return server.serverId;
      },
      get dataId() {
        return server.serverId;
      },
      commands: {
        waiting: 0,
        run: (args) => {
          this.commands.push(args);
          return this.answer();
        },
        script: ({ sha1 }, { keys, args }) => {
          this.commands.push([sha1, ...keys, ...args]);
          return this.answer();
        },
      },
      subscriptions: {
        follow: async (stream) => void this.followed.push(`+${stream}`),
        unfollow: (stream) => void this.followed.push(`-${stream}`),
      },
      close: async () => {
        this.closed++;
      },
    };
  }
}

/** What happened to a loop. */
class Loop implements RedisListener {
  readonly heard: string[] = [];
  link: RedisLink | undefined;

  onAway({ why }: Away): void {
    this.heard.push(`away: ${why} ${this.link?.away?.why}`);
  }

  onGap(why: string): void {
    this.heard.push(`gap: ${why}`);
  }

  onBack(): void {
    this.heard.push(`back at ${this.link?.serverId} ${this.link?.away}`);
  }

  onMessage(stream: string, payload: string, loops?: number): void {
    this.heard.push(`${stream} ${payload.slice(0, 10)} ${loops}`);
  }

  take(): string[] {
    return this.heard.splice(0);
  }
}

/** Loops of one process. What they send each other is copied, and arrives later in order. */
function linked(count: number) {
  const loops: SharedLinks[] = [];
  const sent: (() => void)[] = [];
  /** How many links each has asked another to open. */
  const asked = Array<number>(count).fill(0);
  let isHeld = false;
  for (let index = 0; index < count; index++) {
    loops.push(
      new SharedLinks(
        {
          index,
          count,
          send(to, message) {
            const copy = structuredClone(message);
            if (typeof copy !== 'string' && copy.what[0] === 'open')
              asked[index] = (asked[index] ?? 0) + 1;
            sent.push(() => loops[to]?.receive(index, copy));
            queueMicrotask(() => {
              if (!isHeld) sent.shift()?.();
            });
          },
        },
        { observe: () => undefined },
      ),
    );
  }
  return {
    loops,
    asked,
    hold: () => {
      isHeld = true;
    },
    release() {
      isHeld = false;
      for (const run of sent.splice(0)) run();
    },
  };
}

/** Three loops over one Redis; the first link of each, which loop 0 owns. The others have no connections. */
async function threeLoops(server = new Server()) {
  const process = linked(6);
  const lists = process.loops.map((links) => links.over([server]).servers);
  const all = await Promise.all(
    [0, 4, 5].map(async (index) => {
      const loop = new Loop();
      loop.link = await lists[index]?.[0]?.open(loop);
      return loop;
    }),
  );
  const [owner, one, two] = all as [Loop, Loop, Loop];
  return { ...process, server, owner, one, two };
}

const EVENT_WORDS = ['first', 'second', 'third', 'last', 'after'];

function eventsIn(command: readonly (string | number)[]): readonly (string | number)[] {
  return command.filter((word) => EVENT_WORDS.includes(String(word)));
}

async function settled(): Promise<void> {
  for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
}

describe('loops that share a link', () => {
  it('open it once, and close it when the last one has released it', async () => {
    const { server, owner, one, two } = await threeLoops();
    expect(server.opened).toBe(1);
    const closed = owner.link?.close();
    await one.link?.close();
    await settled();
    expect(server.closed).toBe(0);
    await two.link?.close();
    await closed;
    expect(server.closed).toBe(1);
  });

  it('follow a stream once, and all get its messages with their number', async () => {
    const { server, owner, one, two } = await threeLoops();
    await one.link?.subscriptions.follow('news');
    await owner.link?.subscriptions.follow('news');
    server.listener?.onMessage('news', 'first');
    one.link?.subscriptions.unfollow('news');
    await settled();
    server.listener?.onMessage('news', 'second');
    await settled();
    expect(owner.take()).toEqual(['news first 2', 'news second 1']);
    expect(one.take()).toEqual(['news first 2']);
    expect(two.take()).toEqual([]);
    expect(server.followed).not.toContain('-news');
    owner.link?.subscriptions.unfollow('news');
    expect(server.followed.at(-1)).toBe('-news');
  });

  it('give a message that nobody wants any more to the owner of the link', async () => {
    const { server, owner } = await threeLoops();
    server.listener?.onMessage('late', 'x');
    expect(owner.take()).toEqual(['late x undefined']);
  });

  it('get the replies of their commands, and their errors', async () => {
    const { server, one } = await threeLoops();
    const { commands } = one.link as RedisLink;
    expect(await commands.script(TICK, { keys: ['k'], args: [1, 'a'] })).toEqual(['ok']);
    expect(server.commands).toEqual([[TICK.sha1, 'k', 1, 'a']]);
    server.answer = async () => {
      throw new RedisError('OOM no memory');
    };
    const refused = await commands.run(['GET', 'x']).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RedisError);
    expect(refused).toMatchObject({ code: 'OOM', message: 'OOM no memory' });
    for (const mayHaveRun of [true, false]) {
      server.answer = async () => {
        throw new RedisAway('gone', mayHaveRun);
      };
      const lost = await commands.run(['GET', 'x']).catch((error: unknown) => error);
      expect(lost).toBeInstanceOf(RedisAway);
      expect(lost).toMatchObject({ mayHaveRun });
    }
    expect(commands.waiting).toBe(0);
  });

  it('get the reply of a command among the messages where Redis sent it', async () => {
    const { server, one } = await threeLoops();
    await one.link?.subscriptions.follow('news');
    const answered = one.link?.commands
      .run(['GET', 'x'])
      .then(() => void one.heard.push('answered'));
    server.answer = async () => {
      server.listener?.onMessage('news', 'before');
      return null;
    };
    await answered;
    server.listener?.onMessage('news', 'after');
    await settled();
    expect(one.take()).toEqual(['news before 1', 'answered', 'news after 1']);
  });

  it('refuse more commands than are bounded while the owner does not answer', async () => {
    const { server, one } = await threeLoops();
    server.answer = () => new Promise(() => undefined);
    const { commands } = one.link as RedisLink;
    const mebibyte = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 31; n++) void commands.run(['SET', 'x', mebibyte]);
    const refused = commands.run(['SET', 'x', mebibyte + mebibyte]);
    expect(await refused.catch((error: unknown) => error)).toMatchObject({ mayHaveRun: false });
    expect(commands.waiting).toBe(31);
  });

  it('publish their events together, and before what follows them', async () => {
    const { server, owner, one, two } = await threeLoops();
    const answers: (() => void)[] = [];
    server.answer = () => new Promise((resolve) => answers.push(() => resolve('OK')));
    const published: string[] = [];
    const publish = async (loop: Loop, keys: string, text: string) => {
      const partition = { keys, streamOf: (topic: string) => `${keys}t:${topic}` };
      const event = { appId: 'app', topic: 'app/news', message: text };
      await loop.link?.outbox?.add(partition, event);
      published.push(text);
    };
    const all = [publish(owner, 'p1', 'first')];
    await settled();
    all.push(publish(one, 'p1', 'second'), publish(two, 'p1', 'third'), publish(two, 'p2', 'last'));
    await settled();
    // One call is in flight, and the others wait for it.
    expect(server.commands.map(eventsIn)).toEqual([['first']]);
    one.link?.outbox?.sendBefore({ keys: 'p1', streamOf: (topic) => `p1t:${topic}` }, 'app');
    void one.link?.commands.run(['GET', 'after']);
    await settled();
    expect(server.commands.map(eventsIn)).toEqual([['first'], ['second', 'third'], ['after']]);
    for (const answer of answers.splice(0)) answer();
    await settled();
    for (const answer of answers.splice(0)) answer();
    await Promise.all(all);
    expect(server.commands.map(eventsIn).at(-1)).toEqual(['last']);
    expect(published).toEqual(['first', 'second', 'third', 'last']);
  });

  it('publish no more events than are bounded', async () => {
    const { server, one } = await threeLoops();
    server.answer = () => new Promise(() => undefined);
    const partition = { keys: 'p', streamOf: (topic: string) => `pt:${topic}` };
    const add = (characters: number) => {
      const message = 'x'.repeat(characters);
      return one.link?.outbox?.add(partition, { appId: 'app', topic: 'app/news', message });
    };
    // The outbox of the owner refuses it later.
    const first = add(64 * 1024 * 1024 - 1)?.catch((error: unknown) => error);
    await expect(add(2)).rejects.toBeInstanceOf(EngineUnavailable);
    expect(await first).toBeInstanceOf(EngineUnavailable);
  });

  it('learn that Redis is away, that messages are missed and that it is back', async () => {
    const { server, owner, one } = await threeLoops();
    server.away = { sinceMs: 1, why: 'cut', isRefused: false, server: 'one' };
    server.listener?.onAway(server.away);
    server.listener?.onGap('cut');
    await settled();
    server.away = undefined;
    server.serverId = 'second';
    server.listener?.onBack();
    await settled();
    const all = ['away: cut cut', 'gap: cut', 'back at second undefined'];
    expect(owner.take()).toEqual(all);
    expect(one.take()).toEqual(all);
  });

  it('miss messages while they are behind by too many, and then learn it', async () => {
    const { server, owner, one, hold, release } = await threeLoops();
    await owner.link?.subscriptions.follow('news');
    await one.link?.subscriptions.follow('news');
    hold();
    const mebibyte = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 40; n++) server.listener?.onMessage('news', mebibyte);
    await settled();
    expect(owner.take()).toHaveLength(40);
    release();
    release();
    await settled();
    const why = 'this loop is behind with the messages of Redis';
    const heard = one.take();
    expect(heard.slice(0, 32)).toEqual(Array(32).fill('news xxxxxxxxxx 2'));
    expect(heard.slice(32)).toEqual([
      `away: ${why} ${why}`,
      `gap: ${why}`,
      'back at first undefined',
    ]);
    server.listener?.onMessage('news', 'after');
    await settled();
    expect(one.take()).toEqual(['news after 2']);
  });

  it('learn why it cannot be opened', async () => {
    const server = new Server();
    server.failure = new RedisUnsuitable('it is a cluster');
    const { loops } = linked(2);
    const [first, second] = loops.map((links) => links.over([server]).servers[0]);
    await expect(second?.open(new Loop())).rejects.toBeInstanceOf(RedisUnsuitable);
    await expect(first?.open(new Loop())).rejects.toBeInstanceOf(RedisUnsuitable);
  });
});

describe('a loop with connections to the server', () => {
  /** Loop 1 of two, and its link that loop 0 owns. */
  async function secondOfTwo() {
    const { loops } = linked(2);
    const server = new Server();
    const opened: RedisListener[] = [];
    const open = server.open.bind(server);
    server.open = (listener) => {
      opened.push(listener);
      return open(listener);
    };
    const [, list] = loops.map((links) => links.over([server]).servers);
    const loop = new Loop();
    loop.link = await list?.[0]?.open(loop);
    const [own, other] = opened as [RedisListener, RedisListener];
    return { server, loop, own, other };
  }

  it('sends commands over these, and follows streams over those of the owner of the link', async () => {
    const { server, loop, own, other } = await secondOfTwo();
    void loop.link?.commands.run(['GET', 'x']);
    // At once, and not through another thread.
    expect(server.commands).toEqual([['GET', 'x']]);
    await loop.link?.subscriptions.follow('news');
    own.onMessage('news', 'not followed here');
    other.onMessage('news', 'followed');
    await settled();
    expect(loop.take()).toEqual(['news followed 1']);
  });

  it('is away while one of both is', async () => {
    const { server, loop, own, other } = await secondOfTwo();
    const away = { sinceMs: 1, why: 'cut', isRefused: false, server: 'one' };
    server.away = away;
    other.onAway(away);
    await settled();
    own.onAway(away);
    expect(loop.take()).toEqual(['away: cut cut', 'away: cut cut']);
    server.away = undefined;
    own.onBack();
    expect(loop.take()).toEqual(['away: cut cut']);
    other.onBack();
    await settled();
    expect(loop.take()).toEqual(['back at first undefined']);
  });

  it('closes them with the last of its links that needs them', async () => {
    const { loops } = linked(5);
    const server = new Server();
    const [, , list] = loops.map((links) => links.over([server]).servers);
    const all = await Promise.all(list?.map((one) => one.open(new Loop())) ?? []);
    expect([all.length, server.opened]).toEqual([2, 3]);
    const closed = all[0]?.close();
    await settled();
    expect(server.closed).toBe(1);
    await all[1]?.close();
    await closed;
    expect(server.closed).toBe(3);
  });
});

describe('the connections of a process', () => {
  const lists = [
    { what: 'one server', servers: [new Server()], loops: 6, own: [1, 1, 0, 0, 0, 0], opened: 4 },
    { what: 'one server', servers: [new Server()], loops: 3, own: [1, 0, 0], opened: 3 },
    {
      what: 'two servers',
      servers: [new Server('one'), new Server('two')],
      loops: 5,
      own: [1, 2, 1, 0, 0],
      opened: 8,
    },
    {
      what: 'the slots of a cluster',
      servers: Array.from({ length: 16 }, (_, n) => new Server(`slot ${n}`, `${n}`)),
      loops: 5,
      own: [4, 4, 4, 4, 0],
      opened: 16,
    },
  ];
  it.each(lists)(
    'to $what with $loops loops are $opened',
    async ({ servers, loops, own, opened }) => {
      const links = own.reduce((sum, count) => sum + count, 0);
      const process = linked(loops);
      const lists = process.loops.map((one) => one.over(servers).servers);
      for (const list of lists) {
        // The partitions lie where they lie without other loops.
        const names = Array.from({ length: links }, (_, n) => servers[n % servers.length]?.name);
        expect(list.map(({ name }) => name)).toEqual(names.map(String));
        await Promise.all(list.map((one) => one.open(new Loop())));
      }
      expect(servers.reduce((sum, server) => sum + server.opened, 0)).toBe(opened);
      // Who owns a link need not ask for it.
      expect(process.asked.map((asked) => links - asked)).toEqual(own);
    },
  );
});
