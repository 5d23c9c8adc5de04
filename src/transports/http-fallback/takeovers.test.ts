import { describe, expect, it } from 'bun:test';
import { loop } from './sessions.fixture.ts';

/** Source: HTTP transports, §10.3 and §14.8. */

describe('a receive request that comes late', () => {
  it('ends without a line, because its client reads the newer one', () => {
    const { stream, repeat, opened, ended, turn } = loop();
    stream('of another page');
    const newer = stream('a');
    turn();
    newer.news();

    const older = repeat('a', true, 1);

    expect(older.news()).toBe('(ended)');
    older.gone();
    opened[1]?.send('x');
    turn();
    expect(newer.news()).toBe('a["x"]\n');
    expect(ended).toEqual([]);
  });
});

describe('a stream that its client breaks while it sends the next one to another loop', () => {
  it('is continued by that', () => {
    const { stream, opened, ended, turn, arrived } = loop({ hasOtherLoops: true });
    const first = stream('a');
    turn();
    first.gone();
    opened[0]?.send('x');
    turn();

    const second = stream('a');
    arrived();

    expect(second.news()).toBe('a["x"]\n');
    expect(ended).toEqual([]);
  });

  it('ends the session if there is none', () => {
    const { stream, ended, turn, arrived, sessions } = loop({ hasOtherLoops: true });
    const first = stream('a');
    turn();
    first.gone();
    expect(ended).toEqual([]);
    arrived();
    expect(ended).toEqual(['1']);
    expect(sessions.appOf('a')).toBeUndefined();
  });

  it('ends the session at once if messages were lost with it', () => {
    const { stream, poll, ended, turn } = loop({ hasOtherLoops: true });
    stream('a').gone('lost');
    expect(ended).toEqual(['1']);
    poll('b');
    const answered = poll('b');
    answered.waiting = 1;
    turn();
    answered.gone('lost');
    expect(ended).toEqual(['1', '2']);
  });
});

describe('two first requests of a session', () => {
  it('open it once, while the place of the first is asked for', async () => {
    const { stream, poll, opened, turn, asked } = loop({ isQuotaElsewhere: true });
    const first = stream('a');
    const second = stream('a');
    const [third, fourth] = [poll('b'), poll('b')];
    expect(first.news()).toBe('');
    await asked();
    turn();
    expect(opened).toHaveLength(2);
    expect(first.news()).toBe('o\n(ended)');
    expect(second.news()).toBe('a["established"]\n');
    expect(third.news()).toBe('o\n(ended)');
    expect(fourth.news()).toBe('a["established"]\n');
  });
});
