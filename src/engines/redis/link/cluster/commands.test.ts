import { beforeEach, describe, expect, it } from 'bun:test';
import { FakeClock } from '../../../../channels/hub.fixture.ts';
import { Commands } from '../commands.ts';
import type { RedisConnection, SentCommand } from '../connection.ts';
import { RedisError, type Reply } from '../reply.ts';
import { RedisScript } from '../script.ts';

/** What becomes of commands to a slot that its master refuses. */

/** A connection whose replies the test gives. */
class FakeConnection {
  readonly heardAtMs = 0;
  /** All that was sent, as words. */
  readonly sent: string[][] = [];
  private readonly open: SentCommand[] = [];

  get waiting(): number {
    return this.open.length;
  }

  send(text: string, command: SentCommand): void {
    this.sent.push(text.split('\r\n').filter((_, n) => n > 0 && n % 2 === 0));
    this.open.push(command);
  }

  /** Answers the oldest commands. */
  answer(...replies: readonly (Reply | RedisError)[]): void {
    for (const reply of replies) this.open.shift()?.onReply(reply);
  }
}

const SCRIPT = new RedisScript("return redis.call('PUBLISH', KEYS[1], ARGV[1])");
const LOADED = new RedisScript('return 1');
const MOVED = new RedisError('MOVED 511 10.0.0.2:6379');
const ASK = new RedisError('ASK 511 10.0.0.2:6379');

let clock: FakeClock;
let connection: FakeConnection;
let commands: Commands;
let heard: string[];
let time: number | undefined;
let mustLoad: boolean;

function attach(): void {
  connection = new FakeConnection();
  commands.attach(connection as unknown as RedisConnection);
  commands.open();
  commands.sendUnsent();
}

/** Runs a command, and notes what becomes of it. */
function run(name: string): void {
  commands.run(['GET', name]).then(
    (reply) => heard.push(`${name}: ${reply}`),
    (error) => heard.push(`${name}: ${error.message}, may have run: ${error.mayHaveRun}`),
  );
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const namesSent = () => connection.sent.map((words) => words.at(-1));

beforeEach(() => {
  clock = new FakeClock();
  heard = [];
  time = undefined;
  mustLoad = false;
  commands = new Commands({
    timers: clock,
    deadlineMs: 2_000,
    waitingMax: 100,
    waitingCharactersMax: 10_000,
    scripts: [LOADED],
    onScriptRefused: () => undefined,
    slot: {
      onRefused: (kind) => heard.push(`refused: ${kind}`),
      onMoved: (refusal) => heard.push(refusal),
      onStuck: (refusal) => heard.push(`stuck: ${refusal}`),
      mustLoad: () => mustLoad,
      time: () => time,
    },
  });
  attach();
});

describe('commands to a slot', () => {
  it('that is at another master are sent there once all replies have come, in their order', async () => {
    for (const name of ['a', 'b']) run(name);
    connection.answer(MOVED);
    run('c');
    expect(heard).toEqual(['refused: moved']);
    connection.answer(MOVED);
    expect(heard).toEqual(['refused: moved', 'refused: moved', MOVED.message]);
    expect(namesSent()).toEqual(['a', 'b']);

    commands.detach('moved');
    attach();
    expect(namesSent()).toEqual(['a', 'b', 'c']);
    connection.answer('1', '2', '3');
    await turn();
    expect(heard.slice(3)).toEqual(['a: 1', 'b: 2', 'c: 3']);
  });

  it('that is being moved are tried by one of them every 100 ms, and then go together', async () => {
    for (const name of ['a', 'b']) run(name);
    connection.answer(ASK, ASK);
    run('c');
    expect(namesSent()).toEqual(['a', 'b']);
    clock.advance(100);
    expect(namesSent()).toEqual(['a', 'b', 'a']);
    connection.answer(ASK);
    clock.advance(100);
    expect(namesSent()).toEqual(['a', 'b', 'a', 'a']);
    connection.answer('1');
    expect(namesSent()).toEqual(['a', 'b', 'a', 'a', 'b', 'c']);
    connection.answer('2', '3');
    await turn();
    expect(heard.slice(3)).toEqual(['a: 1', 'b: 2', 'c: 3']);
  });

  it('that is moved for longer than they wait are refused, have not run, and are held back', async () => {
    run('a');
    connection.answer(ASK);
    for (let ms = 0; ms < 1_900; ms += 100) {
      clock.advance(100);
      connection.answer(ASK);
    }
    clock.advance(100);
    await turn();
    const kept = heard.filter((line) => line !== 'refused: moving');
    const failed = `${ASK.message}, may have run: false`;
    expect(kept.toSorted()).toEqual([`a: ${failed}`, `stuck: ${ASK.message}`]);
    run('b');
    expect(namesSent()).not.toContain('b');
    commands.hold('it is being moved');
    clock.advance(2_000);
    await turn();
    expect(heard.at(-1)).toBe('b: it is being moved, may have run: false');
  });

  it('over a connection that must be replaced are answered first, and later ones wait', async () => {
    run('a');
    commands.retire('the primary has changed');
    run('b');
    expect(heard).toEqual([]);
    connection.answer('1');
    await turn();
    expect(heard).toEqual(['the primary has changed', 'a: 1']);
    expect(namesSent()).toEqual(['a']);
    commands.detach('replaced');
    attach();
    expect(namesSent()).toEqual(['b']);
  });

  it('with a script that is not known are sent again with its source', async () => {
    const call = commands.script(SCRIPT, { keys: ['k'], args: ['v'] });
    const { sharded } = SCRIPT;
    expect(connection.sent).toEqual([['EVALSHA', sharded.sha1, '1', 'k', 'v']]);
    connection.answer(new RedisError('NOSCRIPT No matching script.'));
    expect(connection.sent.at(-1)).toEqual(['EVAL', sharded.source, '1', 'k', 'v']);
    expect(sharded.source).toContain("'SPUBLISH'");
    connection.answer(1);
    expect(await call).toBe(1);
  });

  it('load the scripts only if the master does not have them', () => {
    expect(connection.sent).toEqual([]);
    commands.detach('replaced');
    mustLoad = true;
    attach();
    expect(connection.sent).toEqual([['SCRIPT', 'LOAD', LOADED.source]]);
  });

  it('bring the time where Redis does not say it', async () => {
    time = 1_800_000_000_000_000;
    const asking = new RedisScript("return redis.call('TIME')");
    void commands.script(asking, { keys: ['k'], args: ['v'] });
    expect(connection.sent.at(-1)?.slice(2)).toEqual(['1', 'k', 'v', '1800000000000000']);
    expect(connection.sent.at(-1)?.[1]).toBe(asking.sharded.timed.sha1);
    expect(asking.sharded.timed.source).not.toContain("'TIME'");
  });

  it('that were refused in the middle of a script are not sent again', async () => {
    const call = commands.script(SCRIPT, { keys: ['k'], args: [] });
    const where = `script: ${'0f'.repeat(20)}, on @user_script:7.`;
    connection.answer(new RedisError(`CLUSTERDOWN The cluster is down ${where}`));
    expect(await call.catch((error) => error)).toBeInstanceOf(RedisError);
    expect(connection.sent).toHaveLength(1);
  });
});
