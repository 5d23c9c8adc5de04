import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { appWith, hubWith, LateEngine, sessionOf, settled, VECTOR } from '../hub.fixture.ts';
import { sign } from '../signatures/signature.ts';
import { disconnect } from '../subscribing/subscribe.ts';
import { signIn } from './sign-in.ts';

/** Sign-ins where the authority takes its time, as one in a cluster does. Source: §8. */

const SUCCEEDED = 'pusher:signin_success';
const WATCHLIST = 'pusher_internal:watchlist_events';
const plain = appWith({ watchlists: true });

function stage(app = plain) {
  const engine = new LateEngine();
  const hub = hubWith(engine);
  const connect = (id: string) => {
    const session = sessionOf(app, id);
    return {
      session,
      received: () => session.peer.received(),
      frames: session.peer.frames,
      signsIn(userId: string, watchlist?: readonly string[]) {
        const userData = JSON.stringify({ id: userId, watchlist });
        const text = `${session.socketId}::user::${userData}`;
        const auth = `${VECTOR.key}:${sign(VECTOR.secret, text)}`;
        void signIn(hub, session, { type: 'signin', auth, userData });
      },
      disconnects: () => disconnect(hub, session),
    };
  };
  return {
    engine,
    hub,
    clock: hub.clock,
    sent: hub.audience.sent,
    connect,
    /** The topics that somebody listens to. */
    listenedTo: () =>
      [...hub.audience.members].filter(([, peers]) => peers.size > 0).map(([topic]) => topic),
  };
}

describe('a sign-in that the authority has not answered yet', () => {
  it('is confirmed when it has, and not before', async () => {
    const { engine, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann');
    await settled();
    expect(ann.received()).toEqual([]);
    await engine.answersNext();
    expect(ann.received()).toEqual([SUCCEEDED]);
  });

  it('and is sent once more, is confirmed once each, and counted once', async () => {
    const { engine, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann');
    ann.signsIn('ann');
    while (engine.questions.length > 0) await engine.answersNext();
    expect(ann.received()).toEqual([SUCCEEDED, SUCCEEDED]);
    expect(engine.calls).toEqual(['in ann']);
    void ann.disconnects();
    while (engine.questions.length > 0) await engine.answersNext();
    expect(engine.calls).toEqual(['in ann', 'out ann']);
  });

  it('cannot be followed by one as another user', async () => {
    const { engine, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann');
    ann.signsIn('bob');
    expect(ann.received()).toEqual(['pusher:error']);
    await engine.answersNext();
    expect(engine.questions).toEqual([]);
    expect(ann.received()).toEqual([SUCCEEDED]);
  });

  it('and whose connection goes, is signed out once, and only after the answer', async () => {
    const { engine, hub, clock, connect, sent } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann', ['bob']);
    void ann.disconnects();
    await settled();
    // Nobody can end a connection that is gone.
    expect(hub.sessions.of(plain, 'ann')).toEqual([]);
    expect(engine.questions.map(({ call }) => call)).toEqual(['in ann']);
    await engine.answersNext();
    expect(engine.questions.map(({ call }) => call)).toEqual(['out ann']);
    await engine.answersNext();
    expect(engine.questions).toEqual([]);
    expect(ann.received()).toEqual([]);
    clock.advance(3000);
    // Watchers are notified that the user went offline, whatever they received before.
    expect(sent.at(-1)?.frame).toContain('offline');
    expect(hub.memory.watch(plain, ['ann']).size).toBe(0);
  });

  it('leaves no topic behind when the connection goes', async () => {
    const { engine, connect, listenedTo } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann', ['bob']);
    await engine.answers('in ann');
    expect(engine.questions.map(({ call }) => call)).toEqual(['watch bob']);
    void ann.disconnects();
    while (engine.questions.length > 0) await engine.answersNext();
    expect(listenedTo()).toEqual([]);
    expect(ann.received()).toEqual([SUCCEEDED]);
    expect(engine.calls).toEqual(['in ann', 'watch bob', 'unwatch bob', 'out ann']);
  });
});

describe('a watchlist', () => {
  it('is sent after the confirmation', async () => {
    const { engine, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann', ['bob', 'bob']);
    while (engine.questions.length > 0) await engine.answersNext();
    expect(engine.calls).toEqual(['in ann', 'watch bob']);
    expect(ann.received()).toEqual([SUCCEEDED, WATCHLIST]);
  });

  it('shows a user who may still come back as online, as all other watchers see it', async () => {
    const { engine, clock, connect } = stage();
    const bob = connect('1.1');
    bob.signsIn('bob');
    await engine.answersNext();
    void bob.disconnects();
    await engine.answersNext();
    clock.advance(2999);
    const ann = connect('1.2');
    ann.signsIn('ann', ['bob']);
    await engine.answersNext();
    await engine.answersNext();
    expect(ann.frames.at(-1)).toContain('online');
    clock.advance(1);
    expect(ann.frames.at(-1)).toContain('offline');
  });

  it('may hold the user, who is online', async () => {
    const { engine, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann', ['ann']);
    await engine.answersNext();
    await engine.answersNext();
    expect(ann.frames).toHaveLength(2);
    expect(JSON.parse(JSON.parse(String(ann.frames[1])).data)).toEqual({
      events: [{ name: 'online', user_ids: ['ann'] }],
    });
  });
});

describe('connections that come, sign in and go', () => {
  it('leave nobody online and nothing behind, whenever the authority answers', async () => {
    const step = fc.oneof(
      fc.record({
        signsIn: fc.nat(3),
        as: fc.constantFrom('ann', 'bob'),
        watches: fc.boolean(),
      }),
      fc.record({ goes: fc.nat(3) }),
      fc.record({ answers: fc.nat(5) }),
      fc.record({ passMs: fc.nat(4000) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { engine, hub, clock, connect, sent } = stage();
        const connections = ['1.1', '1.2', '1.3', '1.4'].map(connect);
        const go = (connection: ReturnType<typeof connect>) => {
          if (!connection.session.closed) void connection.disconnects();
        };
        for (const one of steps) {
          if ('signsIn' in one) {
            const connection = connections[one.signsIn];
            if (connection?.session.closed === false) {
              connection.signsIn(one.as, one.watches ? ['ann', 'bob', 'eve'] : undefined);
            }
          } else if ('goes' in one) {
            const connection = connections[one.goes];
            if (connection !== undefined) go(connection);
          } else if ('answers' in one) {
            for (let n = 0; n < one.answers; n++) await engine.answersNext();
          } else {
            clock.advance(one.passMs);
          }
        }
        for (const connection of connections) go(connection);
        while (engine.questions.length > 0) await engine.answersNext();
        clock.advance(3000);
        for (const userId of ['ann', 'bob']) {
          expect(hub.memory.watch(plain, [userId]).size).toBe(0);
          expect(hub.sessions.of(plain, userId)).toEqual([]);
          const news = sent.filter(({ topic }) => topic.endsWith(`-${userId}`));
          if (news.length > 0) expect(news.at(-1)?.frame).toContain('offline');
        }
      }),
    );
  });
});

describe('connections of a user whose number is limited', () => {
  const limited = appWith({ limits: { ...plain.limits, connectionsPerUser: 2 } });

  it('never get more places than there are, and lose none, whenever the authority answers', async () => {
    const step = fc.oneof(
      fc.record({ signsIn: fc.nat(5) }),
      fc.record({ goes: fc.nat(5) }),
      fc.record({ answers: fc.nat(3) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { engine, connect } = stage(limited);
        let connected = 0;
        const come = () => connect(`1.${++connected}`);
        const connections = Array.from({ length: 6 }, come);
        const signedIn = () =>
          connections.filter(
            ({ session }) => session.user !== undefined && !session.signingIn && !session.closed,
          );
        const answerAll = async () => {
          await settled();
          while (engine.questions.length > 0) await engine.answersNext();
        };
        for (const one of steps) {
          if ('signsIn' in one) {
            const connection = connections[one.signsIn];
            // The frames of a connection are answered one after the other.
            if (connection?.session.signingIn === false) connection.signsIn('ann');
          } else if ('goes' in one) {
            void connections[one.goes]?.disconnects();
            connections[one.goes] = come();
          } else {
            for (let n = 0; n < one.answers; n++) await engine.answersNext();
          }
          expect(signedIn().length).toBeLessThanOrEqual(2);
        }
        await answerAll();
        for (const connection of connections) {
          const before = signedIn();
          if (before.includes(connection)) continue;
          connection.signsIn('ann');
          await answerAll();
          expect(signedIn().length).toBe(Math.min(2, before.length + 1));
        }
      }),
    );
  });
});
