import { describe, expect, it } from 'bun:test';
import { app, loop } from './sessions.fixture.ts';

/** Source: HTTP transports, §6.3, §9, §10.2 and §14. */

describe('a stream', () => {
  it('has all messages of one turn in one line', () => {
    const { stream, opened, turn } = loop();
    const outlet = stream('a');
    turn();
    expect(outlet.news()).toBe('o\na["established"]\n');
    opened[0]?.send('one');
    opened[0]?.send('"two"');
    turn();
    expect(outlet.news()).toBe('a["one","\\"two\\""]\n');
  });

  it('gets a line after 25 s of silence', async () => {
    const { stream, opened, turn, pass } = loop();
    const outlet = stream('a');
    turn();
    outlet.news();
    await pass(24);
    expect(outlet.news()).toBe('');
    await pass(1);
    expect(outlet.news()).toBe('a[]\n');
    await pass(20);
    opened[0]?.send('x');
    turn();
    await pass(24);
    expect(outlet.news()).toBe('a["x"]\n');
    await pass(1);
    expect(outlet.news()).toBe('a[]\n');
  });

  it('gets no message after 262,144 units, and its session lives on for 10 s after it has ended', async () => {
    const { stream, opened, ended, turn, pass, sessions } = loop({ sendBufferBytes: 1_000_000 });
    const outlet = stream('a');
    turn();
    outlet.news();
    // `o`, the established connection, and `a["` + `"]` with their line feeds.
    const before = 'o\na["established"]\n'.length;
    opened[0]?.send('x'.repeat(262_144 - before - 'a[""]\n'.length));
    turn();
    opened[0]?.send('the last');
    turn();
    opened[0]?.send('one more');
    turn();
    expect(outlet.news()).toEndWith('xx"]\na["the last"]\n');
    await pass(24);
    expect(sessions.appOf('a')).toBe(app.id);

    outlet.gone();
    await pass(9);
    const next = stream('a');
    expect(next.news()).toBe('a["one more"]\n');
    expect(ended).toEqual([]);
  });

  it('that was full and is not opened again ends after 10 s', async () => {
    const { stream, opened, ended, turn, pass } = loop({ sendBufferBytes: 1_000_000 });
    const outlet = stream('a');
    opened[0]?.send('x'.repeat(262_144));
    turn();
    outlet.gone();
    await pass(9);
    expect(ended).toEqual([]);
    await pass(1);
    expect(ended).toEqual(['1']);
  });

  it('keeps its close until the client has reopened it, if it is full', async () => {
    const { stream, opened, ended, turn, sessions } = loop({ sendBufferBytes: 1_000_000 });
    const outlet = stream('a');
    opened[0]?.send('x'.repeat(262_144));
    turn();
    outlet.news();
    opened[0]?.close(4009, 'terminated');
    turn();
    expect(outlet.news()).toBe('');
    // It is no connection any more.
    expect(ended).toEqual(['1']);
    expect(sessions.size).toBe(0);
    expect(stream('a').news()).toBe('c[4009,"terminated"]\n(ended)');
    expect(stream('a').news()).toBe('o\n');
  });

  it('is ended at once when its client breaks it', () => {
    const { stream, ended, sessions } = loop();
    stream('a').gone();
    expect(ended).toEqual(['1']);
    expect(sessions.appOf('a')).toBeUndefined();
  });

  it('whose client broke it late is not ended, if another has taken over', () => {
    const { stream, ended, turn } = loop();
    const first = stream('a');
    turn();
    first.news();
    const second = stream('a');
    expect(first.news()).toBe('(ended)');
    first.gone();
    turn();
    expect(second.news()).toBe('a[]\n');
    expect(ended).toEqual([]);
  });

  it('with too many waiting bytes is broken, counted and forgotten', () => {
    const { stream, opened, ended, turn, sessions } = loop({ sendBufferBytes: 1000 });
    const outlet = stream('a');
    turn();
    outlet.news();
    outlet.waiting = 1001;
    opened[0]?.send('x');
    turn();
    expect(outlet.news()).toBe('a["x"]\n(broken)');
    expect(ended).toEqual(['1', 'too slow']);
    expect(sessions.appOf('a')).toBeUndefined();
  });

  it.each([
    ['x', 998, []],
    ['x', 999, ['1', 'too slow']],
    ['€', 332, []],
    ['€', 333, ['1', 'too slow']],
  ])('has %s waiting %i times: counted in bytes', (letter, times, expected) => {
    const { poll, opened, ended, turn } = loop({ sendBufferBytes: 1000 });
    poll('a');
    poll('a');
    turn();
    opened[0]?.send(letter.repeat(times));
    turn();
    expect(ended).toEqual(expected);
  });
});

describe('a poll', () => {
  it('is answered after 25 s of silence, and the session ends 10 s later without another one', async () => {
    const { poll, ended, turn, pass } = loop();
    expect(poll('a').news()).toBe('o\n(ended)');
    const second = poll('a');
    turn();
    expect(second.news()).toBe('a["established"]\n');
    const third = poll('a');
    await pass(24);
    expect(third.news()).toBe('');
    await pass(1);
    expect(third.news()).toBe('a[]\n');
    await pass(9);
    expect(ended).toEqual([]);
    await pass(1);
    expect(ended).toEqual(['1']);
  });

  it('opens nothing alone, and is forgotten after 10 s', async () => {
    const { poll, opened, pass } = loop();
    poll('a');
    await pass(10);
    expect(poll('a').news()).toBe('o\n(ended)');
    expect(opened).toEqual([]);
  });

  it('has the line that closes the session, also if it comes later', async () => {
    const { poll, opened, turn, pass } = loop();
    poll('a');
    poll('a');
    turn();
    opened[0]?.send('first');
    opened[0]?.close(4200, 'stopping');
    await pass(9);
    expect(poll('a').news()).toBe('a["first"]\nc[4200,"stopping"]\n');
    // The next request begins anew.
    expect(poll('a').news()).toBe('o\n(ended)');
  });

  it('finds nothing of a close that waited for 10 s', async () => {
    const { poll, opened, turn, pass } = loop();
    poll('a');
    poll('a');
    turn();
    opened[0]?.close(4200, 'stopping');
    await pass(10);
    expect(poll('a').news()).toBe('o\n(ended)');
  });

  it('has large messages and the close behind them in two answers', () => {
    const { poll, opened, turn } = loop();
    poll('a');
    poll('a');
    turn();
    const long = 'x'.repeat(262_144);
    opened[0]?.send(long);
    opened[0]?.close(4200, 'stopping');
    expect(poll('a').news()).toBe(`a["${long}"]\n`);
    expect(poll('a').news()).toBe('c[4200,"stopping"]\n');
  });
});

describe('a response that its client has not taken', () => {
  /** A session whose stream or poll has ended with 600 bytes that wait, and a poll after it. */
  function unread(isStream: boolean) {
    const stage = loop();
    const { poll, stream, opened, turn } = stage;
    poll('a');
    poll('a');
    turn();
    const first = isStream ? stream('a') : poll('a');
    first.waiting = 600;
    opened[0]?.send('first');
    turn();
    expect(first.news()).toEndWith('a["first"]\n');
    const second = poll('a');
    opened[0]?.send('second');
    turn();
    return Object.assign(stage, { first, second, connection: opened[0] });
  }

  it.each([true, false])('keeps the next one waiting, as a stream: %p', (isStream) => {
    const { first, second, connection, turn } = unread(isStream);
    expect(second.news()).toBe('');
    expect(connection?.waitingBytes()).toBe(600 + '"second"'.length);
    first.waiting = 0;
    first.gone();
    turn();
    expect(second.news()).toBe('a["second"]\n');
    expect(connection?.waitingBytes()).toBe(0);
  });

  it.each([true, false])(
    'ends its session if that lasts 10 s, as a stream: %p',
    async (isStream) => {
      const { first, ended, pass, forgotten } = unread(isStream);
      await pass(9);
      first.waiting = 500;
      await pass(10);
      expect(ended).toEqual([]);
      await pass(1);
      expect(ended).toEqual(['1', 'too slow']);
      expect(first.news()).toEndWith('(broken)');
      await pass(10);
      expect(forgotten).toEqual(['a']);
    },
  );

  it.each([true, false])('ends its session if it is lost, as a stream: %p', (isStream) => {
    const { first, second, ended } = unread(isStream);
    first.gone('lost');
    expect(ended).toEqual(['1']);
    expect(second.news()).toBe('(broken)');
  });

  it('counts for the limit of one connection', () => {
    const { connection, ended, turn } = unread(false);
    connection?.send('x'.repeat(500));
    turn();
    expect(ended).toEqual(['1', 'too slow']);
  });

  it('counts for its app after its session has closed, until it is broken off', async () => {
    const { poll, opened, turn, pass, unreadAnswers } = loop({ sendBufferBytes: 50_000 });
    poll('a');
    poll('a');
    turn();
    const last = poll('a');
    last.waiting = 20_000;
    opened[0]?.send('x'.repeat(20_000));
    turn();
    opened[0]?.close(4200, 'stopping');
    expect(unreadAnswers.bytes).toBe(20_000);
    await pass(11);
    expect(last.news()).toEndWith('(broken)');
    expect(unreadAnswers.bytes).toBe(0);
  });
});

describe('a busy loop', () => {
  it('lets a poll wait for the next round, so that more messages share its answer', async () => {
    const { poll, opened, turn, time } = loop({ busyShare: 0.9 });
    poll('a');
    const second = poll('a');
    // The round takes a millisecond.
    second.onWrite = () => time.setClock(1);
    turn();
    opened[0]?.send('one');
    const third = poll('a');
    opened[0]?.send('two');
    turn();
    expect(third.news()).toBe('');
    await time.advance(20);
    expect(third.news()).toBe('a["one","two"]\n');
  });
});

describe('a receive request that is sent again', () => {
  const LOST = 'o\nc[4100,"A message did not arrive in full, please reconnect"]\n(ended)';

  it('ends the session, because what was written to it may be lost', () => {
    const { stream, repeat, ended } = loop();
    const first = stream('a');
    first.news();
    expect(repeat('a', true).news()).toBe(LOST);
    expect(first.news()).toBe('(broken)');
    expect(ended).toHaveLength(1);
  });

  it('ends the session between two polls, too', () => {
    const { poll, repeat, opened, turn } = loop();
    poll('a');
    poll('a');
    turn();
    opened[0]?.send('one');
    expect(poll('a').news()).toBe('a["one"]\n');
    expect(repeat('a', false).news()).toBe(LOST);
    expect(poll('a').news()).toBe('o\n(ended)');
  });

  it('is no second poll if it is the first', () => {
    const { poll, repeat, opened, turn } = loop();
    poll('a');
    expect(repeat('a', false).news()).toBe('o\n(ended)');
    expect(opened).toHaveLength(0);
    const second = poll('a');
    turn();
    expect(second.news()).toBe('a["established"]\n');
  });

  it('changes nothing if its client has read the answer: it has sent another one since', () => {
    const { poll, repeat, opened, turn, ended } = loop();
    poll('a');
    poll('a');
    turn();
    const held = poll('a');
    expect(repeat('a', false, 1).news()).toBe(LOST);
    opened[0]?.send('one');
    turn();
    expect(held.news()).toBe('a["one"]\n');
    expect(ended).toEqual([]);
  });

  it('does not open an ended session again, which its client would continue without a subscription', () => {
    const { poll, repeat, opened, turn } = loop();
    poll('a');
    poll('a');
    turn();
    const held = poll('a');
    held.gone();

    // A late copy of the second poll, and then a copy of the third one, for which the client waits.
    expect(repeat('a', false, 1).news()).toBe(LOST);
    expect(repeat('a', false).news()).toBe(LOST);
    expect(repeat('a', false).news()).toBe(LOST);
    expect(opened).toHaveLength(1);
  });

  it('does not open an ended session again as a stream', () => {
    const { stream, repeat, opened, turn } = loop();
    stream('a');
    const second = stream('a');
    turn();
    second.gone();

    expect(repeat('a', true, 1).news()).toBe(LOST);
    expect(opened).toHaveLength(1);
    // The client may read only this one.
    expect(repeat('a', true).news()).toStartWith('o\n');
    expect(opened).toHaveLength(2);
  });

  it('does not take the place of a newer first poll', () => {
    const { poll, repeat, opened } = loop();
    poll('of another page');
    poll('a');

    expect(repeat('a', false, 1).news()).toBe('(ended)');
    expect(repeat('a', false).news()).toBe('o\n(ended)');
    expect(opened).toHaveLength(0);
  });
});

describe('sessions', () => {
  it('are refused with 4100 while the server stops', () => {
    const { stream, poll, sessions } = loop();
    poll('a');
    sessions.stop();
    expect(stream('b').news()).toBe('o\nc[4100,"Over capacity"]\n(ended)');
    expect(poll('c').news()).toBe('o\nc[4100,"Over capacity"]\n(ended)');
    // The client has its `o` already.
    expect(poll('a').news()).toBe('c[4100,"Over capacity"]\n(ended)');
  });

  it('of the address with the most make room for others at the limit', () => {
    const { stream, ended } = loop({ connectionsMax: 3 });
    for (const session of ['a', 'b', 'c']) stream(session, 1);
    expect(stream('d', 2).news()).toBe('o\n');
    expect(ended).toHaveLength(1);
    expect(stream('e', 1).news()).toStartWith('o\nc[4100,');
  });

  it('that have polled once are bounded: the address with the most loses its oldest', () => {
    const { poll } = loop();
    poll('other', 2);
    for (let n = 0; n < 8192; n++) poll(`a${n}`, 1);
    // Opened, and not greeted again.
    expect(poll('other', 2).news()).toBe('');
    expect(poll('a1', 1).news()).toBe('');
    expect(poll('a0', 1).news()).toBe('o\n(ended)');
  });

  it('end with 4100 if messages of their client did not arrive in full: it begins anew', () => {
    const { stream, sessions, ended } = loop();
    const response = stream('a');
    response.news();
    sessions.lost('a', 'not-received');
    sessions.lost('nobody', 'not-received');
    expect(response.news()).toContain('c[4100,"A message did not arrive in full');
    expect(ended).toHaveLength(1);
  });

  it('are given up ten seconds after their end, or if they were not opened', async () => {
    // Two polls, a stream that opens and one that does not.
    const { stream, poll, opened, forgotten, pass } = loop({ places: 3 });
    poll('polled once');
    stream('open');
    expect(forgotten).toEqual([]);
    await pass(10);
    expect(forgotten.splice(0)).toEqual(['polled once']);
    opened[0]?.terminate();
    await pass(9);
    expect(forgotten).toEqual([]);
    await pass(1);
    expect(forgotten.splice(0)).toEqual(['open']);
    stream('last');
    stream('over quota');
    expect(forgotten).toEqual(['over quota']);
  });

  it('accept messages in order, and none after their end', async () => {
    const { stream, opened, heard, sessions, time } = loop();
    stream('a');
    sessions.send({ session: 'a', number: 3, frames: ['two'] });
    sessions.send({ session: 'a', number: 2, frames: ['one'] });
    sessions.send({ session: 'nobody', number: 1, frames: ['lost'] });
    sessions.send({ session: 'a', number: 9, frames: ['held'] });
    opened[0]?.close(4009, '');
    await time.advance(50);
    expect(heard).toEqual(['one', 'two']);
  });
});
