import { beforeEach, describe, expect, it } from 'bun:test';
import { EventOutbox } from './event-outbox.ts';
import type { ScriptArgs } from './link/commands.ts';
import { RedisAway, type Reply } from './link/reply.ts';
import type { RedisScript } from './link/script.ts';
import type { RedisLink } from './redis-link.ts';
import type { EventPartition } from './waiting-events.ts';

const KIB = 1024;

interface Call {
  /** By group: partition, app and messages. */
  readonly groups: readonly (readonly [string, string, ...string[]])[];
  readonly bytes: number;
  readonly answer: (reply: Reply) => void;
  readonly fail: (error: Error) => void;
}

let calls: Call[];
let link: Pick<RedisLink, 'commands'> & { away: RedisLink['away'] };
let observed: number[];
let outbox: EventOutbox;

const partition = (keys: string): EventPartition => ({
  keys,
  streamOf: (topic) => `${keys}t:${topic}`,
});
const one = partition('{1}');
const two = partition('{2}');

beforeEach(() => {
  calls = [];
  observed = [];
  link = {
    away: undefined,
    commands: {
      waiting: 0,
      run: () => Promise.reject(new Error('not a script')),
      script: (_: RedisScript, { args }: ScriptArgs) => {
        const { promise, resolve, reject } = Promise.withResolvers<Reply>();
        calls.push({ ...read(args), answer: resolve, fail: reject });
        return promise;
      },
    },
  };
  outbox = new EventOutbox({ link, meter: { observe: (_, value) => observed.push(value) } });
});

/** Reads the arguments of `EVENTS`. */
function read(args: ScriptArgs['args']): Pick<Call, 'groups' | 'bytes'> {
  const groups: [string, string, ...string[]][] = [];
  let bytes = 0;
  for (let at = 0; at < args.length; ) {
    const [keys, app, count] = args.slice(at, at + 3);
    const group: [string, string, ...string[]] = [String(keys), String(app)];
    for (let n = 0; n < Number(count); n++) {
      const message = String(args[at + 6 + 4 * n]);
      bytes += Buffer.byteLength(message);
      group.push(message.slice(0, 20));
    }
    groups.push(group);
    at += 3 + 4 * Number(count);
  }
  return { groups, bytes };
}

const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

/** What became of an event, by its message. */
const outcomes = new Map<string, string>();

function add(message: string, { app = 'a', to = one } = {}): void {
  outbox.add(to, { appId: app, topic: `${app}/news`, message }).then(
    () => outcomes.set(message, 'published'),
    (error: Error) => outcomes.set(message, String((error.cause as Error).message)),
  );
}

const messagesOf = ({ groups }: Call) => groups.flatMap(([, , ...messages]) => messages);

async function answerAll(): Promise<void> {
  for (let n = 0; n < calls.length; n++) {
    calls[n]?.answer('OK');
    await endOfTurn();
    await endOfTurn();
  }
}

describe('an outbox of events', () => {
  it('sends a single event at the end of the turn', async () => {
    add('1');
    expect(calls).toEqual([]);
    await endOfTurn();
    expect(calls.map(messagesOf)).toEqual([['1']]);
  });

  it('sends what comes while a call is in flight with the next call, and counts both', async () => {
    add('1');
    await endOfTurn();
    add('2');
    await endOfTurn();
    add('3', { to: two });
    add('4');
    await endOfTurn();
    expect(calls).toHaveLength(1);
    expect(outbox.waiting).toBe(3);
    calls[0]?.answer('OK');
    await endOfTurn();
    await endOfTurn();
    expect(calls[1]?.groups).toEqual([
      ['{1}', 'a', '2', '4'],
      ['{2}', 'a', '3'],
    ]);
    expect(observed).toEqual([1, 3]);
    expect(outbox.waiting).toBe(0);
  });

  it('names keys, streams and lengths in bytes', async () => {
    let args: ScriptArgs['args'] = [];
    link.commands.script = async (_, given) => {
      args = given.args;
      return 'OK';
    };
    await outbox.add(one, { appId: 'a', topic: 'a/né', message: 'e\n\n{"é":1}' });
    expect(args).toEqual([
      ...['{1}', 'a', 1],
      ...['{1}T:a/né', '{1}t:a/né', '5:27:a/né', 'e\n\n{"é":1}'],
    ]);
  });

  it('keeps each call within 256 events and 256 KiB, and sends a larger event alone', async () => {
    const large = 'x'.repeat(300 * KIB);
    for (let n = 0; n < 300; n++) add(`${n} `);
    add(`${large}`);
    for (let n = 0; n < 10; n++) add(`${n} ${'y'.repeat(100 * KIB)}`);
    await endOfTurn();
    await answerAll();
    expect(calls.map((call) => messagesOf(call).length)).toEqual([256, 44, 1, 2, 2, 2, 2, 2]);
    for (const { bytes } of calls) {
      expect(bytes === large.length || bytes <= 256 * KIB).toBe(true);
    }
  });

  it('never lets small events pass a large one for good', async () => {
    add('first');
    await endOfTurn();
    for (let n = 0; n < 50; n++) add('y'.repeat(20 * KIB), { app: 'loud' });
    add('L'.repeat(250 * KIB), { app: 'large' });
    await answerAll();
    const firsts = calls.map((call) => messagesOf(call)[0]?.charAt(0));
    expect(firsts.slice(0, 3)).toEqual(['f', 'y', 'L']);
  });

  it('shares a call between apps, however many events one has', async () => {
    for (let n = 0; n < 5000; n++) add(`loud${n}`, { app: 'loud' });
    for (let n = 0; n < 100; n++) add(`quiet${n}`, { app: 'quiet', to: two });
    await endOfTurn();
    const [first] = calls.map(messagesOf);
    expect(first).toHaveLength(256);
    expect(first?.filter((message) => message.startsWith('quiet'))).toHaveLength(100);
    await answerAll();
    const loud = calls.flatMap(messagesOf).filter((message) => message.startsWith('loud'));
    expect(loud).toEqual(Array.from({ length: 5000 }, (_, n) => `loud${n}`));
  });

  it('shares the bytes of a call as well', async () => {
    for (let n = 0; n < 50; n++) add('y'.repeat(20 * KIB), { app: 'loud' });
    add('q'.repeat(20 * KIB), { app: 'quiet' });
    await endOfTurn();
    expect(calls.flatMap(messagesOf)).toContain('q'.repeat(20));
  });

  it('sends events of an app and partition before what must come after them, and no others', async () => {
    add('0');
    await endOfTurn();
    for (const message of ['1', '2']) add(message);
    add('other app', { app: 'b' });
    add('other partition', { to: two });
    outbox.sendBefore(one, 'a');
    expect(calls.map(messagesOf)).toEqual([['0'], ['1', '2']]);
    outbox.sendBefore(one, 'a');
    expect(calls).toHaveLength(2);
    for (const { answer } of calls.splice(0)) answer('OK');
    await endOfTurn();
    await endOfTurn();
    expect(calls.map(messagesOf)).toEqual([['other partition', 'other app']]);
  });

  it('answers every event of a failed call with the failure, sends none again, and goes on', async () => {
    for (const message of ['f1', 'f2']) add(message);
    await endOfTurn();
    add('f3');
    calls[0]?.fail(new RedisAway('no reply', true));
    await endOfTurn();
    await endOfTurn();
    calls[1]?.answer('OK');
    await endOfTurn();
    expect(calls.map(messagesOf)).toEqual([['f1', 'f2'], ['f3']]);
    expect(['f1', 'f2', 'f3'].map((message) => outcomes.get(message))).toEqual([
      'no reply',
      'no reply',
      'published',
    ]);
  });

  it('keeps nothing waiting while Redis is away: the link knows for how long', async () => {
    add('1');
    await endOfTurn();
    link.away = { sinceMs: 0, why: 'it is away', isRefused: false, server: 'redis:6379' };
    for (let n = 0; n < 300; n++) add(`${n}`);
    await endOfTurn();
    expect(calls.map((call) => messagesOf(call).length)).toEqual([1, 256, 44]);
    expect(outbox.waiting).toBe(0);
  });

  it('refuses the newest events of the app with most of them when too many wait', async () => {
    add('first');
    await endOfTurn();
    for (let n = 0; n < 50_000; n++) add(`loud${n}`, { app: 'loud' });
    expect(outbox.waiting).toBe(50_000);
    add('loud one more', { app: 'loud' });
    add('quiet', { app: 'quiet' });
    await endOfTurn();
    const tooMany = 'too many events wait for Redis';
    expect(outcomes.get('loud one more')).toBe(tooMany);
    expect(outcomes.get('loud49999')).toBe(tooMany);
    expect(outcomes.has('quiet')).toBe(false);
    expect(outbox.waiting).toBe(50_000);
    outbox.sendAll();
    expect(outbox.waiting).toBe(0);
    expect(calls.flatMap(messagesOf)).toContain('quiet');
  });

  it('refuses events above 32 MiB, and takes others again when those are gone', async () => {
    add('first');
    await endOfTurn();
    for (let n = 0; n < 33; n++) add(`m${n} ${'x'.repeat(KIB * KIB - 4)}`, { app: 'loud' });
    expect(outbox.waiting).toBe(32);
    await answerAll();
    expect(outbox.waiting).toBe(0);
    add('after');
    await endOfTurn();
    await answerAll();
    expect(outcomes.get('after')).toBe('published');
  });
});
