import { describe, expect, it } from 'bun:test';
import { ADDRESS, pair } from './session-cluster.fixture.ts';
import { endVisit } from './session-cluster.ts';

/** Source: HTTP transports, §14.8. */

describe('a session', () => {
  it('lives on the loop of its first request, to which other loops forward theirs', async () => {
    const { a, b } = pair();
    await a.receive('s');
    const outlet = await b.receive('s');
    a.sessions.outlets[1]?.write('o\n');
    expect(outlet.written).toEqual(['o\n']);
    const home = await b.cluster.knowing('s', ADDRESS);
    expect(await home?.appOf('s')).toBe('app');
    home?.send({ session: 's', number: 2, frames: ['x'] });
    home?.lost('s', 'too-large');
    expect(a.sessions.log).toEqual(['x', 'too-large: s']);
    expect(b.sessions.known.size).toBe(0);
  });

  it('is left by the requests that came to a server that stops', async () => {
    const { a, b } = pair();
    await a.receive('s');
    const outlet = await b.receive('s');
    expect(b.cluster.size).toBe(1);

    for (const open of b.cluster.all()) endVisit(open, 'server-stopping');

    expect(outlet.written).toEqual(['c[4200,"Server is stopping, please reconnect"]\n', '(ended)']);
    expect([b.cluster.size, a.sessions.log]).toEqual([0, ['ended']]);
    // A proxy may send more, over connections that it has kept.
    const late = await b.receive('s');
    a.sessions.outlets[2]?.write('a[]\n');
    expect(late.written).toEqual(['a[]\n']);
    expect(b.cluster.size).toBe(1);
  });

  it('answers the polls that came to a server that stops, so that its client polls another one', async () => {
    const { a, b } = pair();
    await a.receive('s');
    const poll = await b.poll('s');
    expect(b.cluster.size).toBe(0);
    b.cluster.releasePolls();
    // A send without messages is answered with a line.
    expect(a.sessions.log).toEqual(['(nothing)']);
    a.sessions.outlets[1]?.write('a[]\n');
    expect(poll.written).toEqual(['a[]\n']);
  });

  it('gets no late line of another session whose request has ended', async () => {
    const { a, b, pass } = pair();
    await a.receive('s');
    await a.receive('t');
    const before = await b.receive('s');
    before.onEnd();
    // Both loops forget each other: nothing is under way.
    await pass(1);
    const outlet = await b.receive('t');
    a.sessions.outlets[2]?.write('of s\n');
    a.sessions.outlets[3]?.write('of t\n');
    expect(outlet.written).toEqual(['of t\n']);
  });

  it('is unknown where nobody has claimed it', async () => {
    const { b } = pair();
    expect(await b.cluster.knowing('s', ADDRESS)).toBeUndefined();
  });

  it('is not searched for a client that would be refused', async () => {
    const { a, b, claims, state } = pair();
    await a.receive('s');
    state.questions = 0;
    await b.receive('t', 'wrong key');
    state.isRefused = true;
    expect(await b.cluster.knowing('s', ADDRESS)).toBeUndefined();
    expect(state.questions).toBe(0);
    expect(claims.has('t')).toBe(false);
    // Its own loop knows it without asking.
    expect(await a.cluster.knowing('s', ADDRESS)).toBeDefined();
  });

  it('is notified of the end of a response on another loop', async () => {
    const { a, b } = pair();
    await a.receive('s');
    const outlet = await b.receive('s');
    outlet.onEnd();
    expect(a.sessions.log).toEqual(['ended']);
  });

  it('is notified that its client on another loop reads too slowly', async () => {
    const { a, b } = pair();
    await a.receive('s');
    const outlet = await b.receive('s');
    outlet.waiting = 1001;
    a.sessions.outlets[1]?.write('long\n');
    expect(outlet.written).toEqual(['long\n', '(broken)']);
    expect(a.sessions.log).toEqual(['ended: too-slow']);
  });

  it('has the number of bytes that wait for its client on another loop', async () => {
    const { a, b, pass } = pair();
    await a.receive('s');
    const outlet = await b.receive('s');
    outlet.waiting = 500;
    await pass(1);
    expect(a.sessions.outlets[1]?.waitingBytes()).toBe(500);
  });

  it('has the answer to a poll on another loop until the socket has taken it', async () => {
    const { a, b, pass } = pair();
    await a.receive('s');
    const poll = await b.poll('s');
    const answer = a.sessions.outlets[1];
    poll.waiting = 400;
    answer?.write('x'.repeat(600));
    expect(answer?.waitingBytes()).toBe(600);
    // It is complete, so no silence of the session's loop breaks it.
    await pass(50);
    expect(answer?.waitingBytes()).toBe(400);
    expect(poll.written).toHaveLength(1);
    poll.onEnd('lost');
    expect(a.sessions.log).toEqual(['ended: lost']);
  });

  it('is broken when messages may be missing, on both sides', async () => {
    const { a, b } = pair();
    await a.receive('s');
    const outlet = await b.receive('s');
    b.listener()?.onLoss('a');
    expect(outlet.written).toEqual(['(broken)']);
    expect(a.sessions.log).toEqual(['ended']);

    const other = await b.receive('s');
    a.listener()?.onLoss(undefined);
    expect(a.sessions.log).toEqual(['ended', 'ended: lost']);
    // Its loop has missed nothing, and would wait for lines.
    expect(other.written).toEqual(['(broken)']);
  });

  it('ends if messages of its client may be missing that came to another loop', async () => {
    const { a, b } = pair();
    await a.receive('s');
    const home = await b.cluster.knowing('s', ADDRESS);
    await home?.appOf('s');
    a.listener()?.onLoss('c');
    expect(a.sessions.log).toEqual([]);
    a.listener()?.onLoss('b');
    a.listener()?.onLoss(undefined);
    expect(a.sessions.log).toEqual(['not-received: s']);
  });

  it('ends once its loop can be asked, if a message of its client could not be handed over', async () => {
    const { a, b, state, pass } = pair();
    await a.receive('s');
    state.isAway = true;
    expect(await b.cluster.knowing('s', ADDRESS)).toBeUndefined();
    await pass(3);
    expect(a.sessions.log).toEqual([]);
    state.isAway = false;
    await pass(2);
    expect(a.sessions.log).toEqual(['not-received: s']);
    await pass(3);
    expect(a.sessions.log).toHaveLength(1);
  });

  it('ends if a message of its client was not sent to its loop', async () => {
    const { a, b, pass } = pair();
    await a.receive('s');
    const home = await b.cluster.knowing('s', ADDRESS);
    home?.send({ session: 's', number: 2, frames: ['x'] });
    await pass(1);
    b.listener()?.onLoss('a');
    await pass(2);
    expect(a.sessions.log).toEqual(['x', 'not-received: s']);
    // Long after it was sent, nothing of it can be missing.
    home?.send({ session: 's', number: 3, frames: ['y'] });
    await pass(11);
    b.listener()?.onLoss('a');
    await pass(2);
    expect(a.sessions.log).toEqual(['x', 'not-received: s', 'y']);
  });

  it('is broken on other loops once these know that its own has died', async () => {
    const { a, b, state, claims, time } = pair();
    await a.receive('s');
    const before = await b.receive('s');
    state.dead.add('a');
    const outlet = await b.receive('s');
    await time.advance(1);
    expect(before.written).toEqual(['(broken)']);
    // A new request learns from an `o` that the session is lost.
    b.sessions.outlets[0]?.write('o\n');
    expect(outlet.written).toEqual(['o\n']);
    expect(claims.get('s')).toBe('b');
  });

  it('begins anew on another loop if its own does not answer for 5 s', async () => {
    const { b, claims, time } = pair();
    claims.set('s', 'nobody');
    const outlet = await b.receive('s');
    await time.advance(4999);
    expect(b.sessions.known.has('s')).toBe(false);
    await time.advance(1);
    expect(b.sessions.known.has('s')).toBe(true);
    expect(claims.get('s')).toBe('b');
    b.sessions.outlets[0]?.write('o\n');
    expect(outlet.written).toEqual(['o\n']);
    outlet.onEnd();
    expect(b.sessions.log).toEqual(['ended']);
  });

  it('is unknown if its loop does not answer for 5 s, and is told that a message of its client is lost', async () => {
    const { a, b, state, time } = pair();
    await a.receive('s');
    const home = await b.cluster.knowing('s', ADDRESS);
    state.hold();
    const app = home?.appOf('s');
    await time.advance(5000);
    expect(await app).toBeUndefined();
    state.release();
    expect(a.sessions.log).toEqual(['not-received: s']);
  });

  it('learns of a message that came to a loop which has ended since, once its own can be asked again', async () => {
    const { a, b, state, pass, time } = pair();
    await a.receive('s');
    const home = await b.cluster.knowing('s', ADDRESS);
    state.hold();
    const app = home?.appOf('s');
    await time.advance(5000);
    expect(await app).toBeUndefined();
    a.listener()?.onLoss(undefined);
    state.isAway = true;
    await pass(2, a);
    expect(a.sessions.log).toEqual([]);
    state.isAway = false;
    await pass(1, a);
    expect(a.sessions.log).toEqual(['not-received: s']);
    // Nothing more can have been noted.
    await pass(1, a);
    expect(a.sessions.log).toHaveLength(1);
  });

  it('gets no answer for its client before the loss of the message is noted', async () => {
    const { a, b, state, time } = pair();
    await a.receive('s');
    const home = await b.cluster.knowing('s', ADDRESS);
    const noting = Promise.withResolvers<void>();
    state.noting = noting.promise;
    state.hold();
    let isAnswered = false;
    const app = Promise.resolve(home?.appOf('s')).finally(() => {
      isAnswered = true;
    });
    await time.advance(5000);
    expect(isAnswered).toBe(false);
    noting.resolve();
    expect(await app).toBeUndefined();
  });

  it('is unknown, and is told, although the loss of a message cannot be noted', async () => {
    const { a, b, state, time } = pair();
    await a.receive('s');
    const home = await b.cluster.knowing('s', ADDRESS);
    state.hold();
    state.isAway = true;
    const app = home?.appOf('s');
    await time.advance(5000);
    expect(await app).toBeUndefined();
    state.release();
    expect(a.sessions.log).toEqual(['not-received: s']);
  });

  it('is notified if messages that it wrote to another loop were not sent', async () => {
    const { a, b, state } = pair();
    await a.receive('s');
    const read = await b.receive('s');
    a.sessions.outlets[1]?.write('one\n');
    read.onEnd();
    const broken = await b.receive('s');
    state.hold();
    a.sessions.outlets[2]?.write('two\n');
    broken.onEnd();
    state.release();
    expect(a.sessions.log).toEqual(['ended', 'ended: lost']);
  });

  it('is claimed again if it opens for a loop that has found its earlier claim', async () => {
    const { a, b, claims } = pair();
    claims.set('s', 'a');
    const opened = b.receive('s');
    claims.delete('s');
    await opened;
    expect(a.sessions.known.has('s')).toBe(true);
    expect(claims.get('s')).toBe('a');
  });

  it('is broken within 6 s if its loop has died', async () => {
    const { a, b, state, pass } = pair();
    await a.receive('s');
    const outlet = await b.receive('s');
    state.dead.add('a');
    await pass(6);
    expect(outlet.written).toEqual(['(broken)']);
  });

  it('is opened here while nobody can be asked where it lives', async () => {
    const { a, b, state } = pair();
    await a.receive('s');
    state.isAway = true;
    await b.receive('s');
    expect(b.sessions.known.has('s')).toBe(true);
    expect(await b.cluster.knowing('t', ADDRESS)).toBeUndefined();
  });

  it('is claimed as soon as that is possible, and learns of messages that had come before', async () => {
    const { a, b, claims, state, pass } = pair();
    state.isAway = true;
    await a.receive('s');
    await b.cluster.knowing('t', ADDRESS);
    await pass(3);
    state.isAway = false;
    // Nobody has claimed it yet.
    expect(await b.cluster.knowing('s', ADDRESS)).toBeUndefined();
    await pass(1);
    expect(claims.get('s')).toBe('a');
    await pass(2);
    expect(a.sessions.log).toEqual(['not-received: s']);
  });

  it('learns of a message that came to another loop while only its own could not reach Redis', async () => {
    const { a, b, claims, state, pass } = pair();
    state.isAway = true;
    await a.receive('s');
    state.isAway = false;
    expect(await b.cluster.knowing('s', ADDRESS)).toBeUndefined();
    await pass(9, b);
    expect(a.sessions.log).toEqual([]);
    await pass(1, a);
    expect(claims.get('s')).toBe('a');
    await pass(7, b);
    expect(a.sessions.log).toEqual(['not-received: s']);
  });

  it('is not searched for ever if a message came for it that is over', async () => {
    const { b, state, pass } = pair();
    await b.cluster.knowing('s', ADDRESS);
    state.questions = 0;
    await pass(300);
    expect(state.questions).toBe(8);
    await pass(300);
    expect(state.questions).toBe(8);
  });

  it('is claimed again every 20 s', async () => {
    const { a, claims, pass } = pair();
    await a.receive('s');
    claims.clear();
    await pass(20);
    expect(claims.get('s')).toBe('a');
  });
});
