import { describe, expect, it } from 'bun:test';
import { settled } from '../../../../testing/fake-time.ts';
import { appWith } from '../../../channels/hub.fixture.ts';
import { FakeConnection } from '../connection.fixture.ts';
import type { ClientConnection } from '../connection.ts';
import { FrameQueue, type FrameText } from './frame-queue.ts';

/** A loop whose clock only moves while frames are answered, each for `frameMs`. */
function stage({ frameMs = 1, queuedBytesMax = 10_000, blocks = '' } = {}) {
  let nowMs = 1000;
  let planned: (() => void)[] = [];
  const ids = new Map<ClientConnection, string>();
  const answered: string[] = [];
  const givenUp: string[] = [];
  const onAnswer = new Map<string, () => void>();
  const blocked = Promise.withResolvers<void>();
  const published = { isFull: false };
  const queue = new FrameQueue({
    now: () => nowMs,
    afterTurn: (run) => void planned.push(run),
    answer: (connection, frame) => {
      nowMs += frameMs;
      const text = `${ids.get(connection)}:${frame}`;
      answered.push(text);
      onAnswer.get(text)?.();
      return text === blocks ? blocked.promise : undefined;
    },
    giveUp: (connection) => void givenUp.push(ids.get(connection) ?? ''),
    queuedBytesMax,
    isFull: () => published.isFull,
  });
  return {
    queue,
    published,
    givenUp,
    onAnswer,
    client: (id: string, app = appWith()) => {
      const connection = new FakeConnection({ app });
      ids.set(connection, id);
      const send = (...frames: FrameText[]) => {
        for (const frame of frames) queue.arrived(connection, frame, nowMs);
      };
      return { connection, send };
    },
    /** Lets the answer to the frame `blocks` be complete. */
    unblock: async () => {
      blocked.resolve();
      await settled();
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
    /** What was answered since this was last asked. */
    answered: () => answered.splice(0).join(' '),
    endTurn: () => {
      const runs = planned;
      planned = [];
      for (const run of runs) run();
      return runs.length;
    },
  };
}

describe('frames', () => {
  it('wait while a turn has published enough', () => {
    const { client, published, answered, endTurn } = stage();
    const { send } = client('a');
    send('1');
    published.isFull = true;
    send('2', '3');
    endTurn();
    expect(answered()).toBe('a:1');
    published.isFull = false;
    endTurn();
    expect(answered()).toBe('a:2 a:3');
  });

  it('are answered as they arrive, for some milliseconds of a turn', () => {
    const { client, answered, endTurn } = stage();
    const { send } = client('a');
    send('1', '2', '3');
    expect(answered()).toBe('a:1 a:2 a:3');
    expect(endTurn()).toBe(1);
    expect(endTurn()).toBe(0);
    send('4', '5', '6', '7', '8');
    expect(answered()).toBe('a:4 a:5 a:6 a:7');
    endTurn();
    expect(answered()).toBe('a:8');
    send('9');
    expect(answered()).toBe('a:9');
  });

  it('wait behind earlier frames of their connection', () => {
    const { client, answered, endTurn } = stage({ frameMs: 10 });
    const a = client('a');
    a.send('1', '2', '3', null);
    expect(answered()).toBe('a:1');
    a.send(...'456789');
    endTurn();
    expect(answered()).toBe('a:2 a:3 a:null a:4 a:5 a:6 a:7 a:8');
    a.send('10');
    endTurn();
    expect(answered()).toBe('a:9 a:10');
  });

  it('that wait are answered for one app after the other, and in an app for one connection after the other', () => {
    const { client, answered, endTurn } = stage({ frameMs: 0.1, queuedBytesMax: 100_000 });
    const loud = appWith();
    const quiet = appWith();
    const flood = Array.from({ length: 200 }, (_, n) => String(n));
    client('x', loud).send(...flood);
    client('y', loud).send(...flood);
    client('z', quiet).send('hello');
    answered();
    endTurn();
    const order = answered().split(' ');
    expect(order.slice(0, 9).map((text) => text.split(':')[0])).toEqual([...'xxxxxxxx', 'z']);
    expect(order.slice(9, 17).every((text) => text.startsWith('y:'))).toBe(true);
    // No longer than a turn may take, but for the frames of the last connection.
    expect(order.length).toBeLessThanOrEqual(48);
    let turns = 0;
    while (endTurn() > 0) turns++;
    expect(turns).toBeGreaterThan(5);
  });

  it('of a connection that has ended are not answered', () => {
    const { queue, client, answered, endTurn, onAnswer } = stage({ frameMs: 5 });
    const a = client('a');
    const b = client('b');
    a.send('1', '2', '3');
    b.send('1', '2');
    queue.forget(a.connection);
    onAnswer.set('b:1', () => queue.forget(b.connection));
    while (endTurn() > 0);
    expect(answered()).toBe('a:1 b:1');
    a.send('4');
    expect(answered()).toBe('a:4');
  });

  it('wait up to a limit: beyond it, a connection of the app with the most is given up', () => {
    const { client, answered, endTurn, givenUp } = stage({ frameMs: 5, queuedBytesMax: 1000 });
    const loud = appWith();
    const quiet = client('quiet', appWith());
    const [few, many] = [client('few', loud), client('many', loud)];
    few.send('1', 'x', 'x');
    many.send(...Array(10).fill('x'));
    expect(givenUp).toEqual([]);
    quiet.send('1', '2', '3', '4');
    expect(givenUp).toEqual(['many']);
    while (endTurn() > 0);
    expect(answered()).toBe('few:1 few:x few:x quiet:1 quiet:2 quiet:3 quiet:4');
    many.send(...Array(20).fill('x'));
    expect(givenUp).toEqual(['many', 'many']);
  });

  it('that fit are taken out of turn if an engine is late, and the others keep their order', async () => {
    const { queue, client, answered, endTurn, unblock, pass } = stage({
      frameMs: 0,
      blocks: 'a:0',
      queuedBytesMax: 50_000_000,
    });
    const a = client('a');
    const others = Array.from({ length: 50_000 }, (_, n) => `other ${n}`);
    a.send('0', ...Array(100_000).fill('ping'), null, ...others);
    const isPing = (frame: string) => frame === 'ping';
    expect(queue.takeLate(a.connection, isPing)).toBe(0);
    pass(1_000);
    expect(queue.takeLate(a.connection, isPing)).toBe(100_000);
    expect(queue.takeLate(a.connection, isPing)).toBe(0);
    await unblock();
    while (endTurn() > 0);
    expect(answered()).toBe(['0', null, ...others].map((frame) => `a:${frame}`).join(' '));
    // Comparing each with each takes ten seconds or more.
  }, 5_000);
});
