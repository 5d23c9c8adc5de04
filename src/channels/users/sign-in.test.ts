import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { App } from '../app.ts';
import { appWith, hubWith, LateEngine, sessionOf, settled, VECTOR } from '../hub.fixture.ts';
import type { Hub } from '../hub.ts';
import type { UserRoster } from '../ports.ts';
import { sign } from '../signatures/signature.ts';
import { disconnect } from '../subscribing/subscribe.ts';
import { signIn } from './sign-in.ts';

/** Sign-ins where the user roster takes its time, as one in a cluster does. Source: §8. */

const SUCCEEDED = 'pusher:signin_success';
const WATCHLIST = 'pusher_internal:watchlist_events';
const app = appWith({ watchlists: true });

interface Question {
  readonly call: string;
  readonly work: () => unknown;
  readonly answer: (value: unknown) => void;
}

/** Does and answers what it is asked when the test says so, in any order; remembers all that it did. */
class LateUsers implements UserRoster {
  readonly questions: Question[] = [];
  readonly done: string[] = [];
  readonly connections = new Map<string, number>();

  signIn(_: App, userId: string): Promise<boolean> {
    return this.ask(`in ${userId}`, () => this.add(userId, 1) === 1);
  }

  signOut(_: App, userId: string): Promise<boolean> {
    return this.ask(`out ${userId}`, () => this.add(userId, -1) === 0);
  }

  online(_: App, userIds: readonly string[]): Promise<ReadonlySet<string>> {
    const isOnline = (userId: string) => (this.connections.get(userId) ?? 0) > 0;
    return this.ask(`online ${userIds.join()}`, () => new Set(userIds.filter(isOnline)));
  }

  /** Answers the question at this index; the oldest has 0. */
  async answers(place = 0): Promise<string> {
    const [question] = this.questions.splice(place, 1);
    if (question === undefined) throw new Error('Nothing was asked');
    this.done.push(question.call);
    question.answer(question.work());
    await settled();
    return question.call;
  }

  private add(userId: string, by: number): number {
    const connections = (this.connections.get(userId) ?? 0) + by;
    if (connections < 0) throw new Error(`${userId} is signed out more often than in`);
    this.connections.set(userId, connections);
    return connections;
  }

  private ask<T>(call: string, work: () => T): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    this.questions.push({ call, work, answer: (value) => resolve(value as T) });
    return promise;
  }
}

function stage() {
  const users = new LateUsers();
  const fake = hubWith(new LateEngine());
  const hub: Hub = { ...fake, users };
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
    users,
    hub,
    clock: fake.clock,
    sent: fake.audience.sent,
    connect,
    /** The topics that somebody listens to. */
    listenedTo: () =>
      [...fake.audience.members].filter(([, peers]) => peers.size > 0).map(([topic]) => topic),
  };
}

describe('a sign-in that the roster has not answered yet', () => {
  it('is confirmed when it has, and not before', async () => {
    const { users, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann');
    await settled();
    expect(ann.received()).toEqual([]);
    await users.answers();
    expect(ann.received()).toEqual([SUCCEEDED]);
  });

  it('and is sent once more, is confirmed once each, and counted once', async () => {
    const { users, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann');
    ann.signsIn('ann');
    while (users.questions.length > 0) await users.answers();
    expect(ann.received()).toEqual([SUCCEEDED, SUCCEEDED]);
    expect(users.done).toEqual(['in ann']);
    void ann.disconnects();
    while (users.questions.length > 0) await users.answers();
    expect(users.done).toEqual(['in ann', 'out ann']);
  });

  it('cannot be followed by one as another user', async () => {
    const { users, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann');
    ann.signsIn('bob');
    expect(ann.received()).toEqual(['pusher:error']);
    await users.answers();
    expect(users.questions).toEqual([]);
    expect(ann.received()).toEqual([SUCCEEDED]);
  });

  it('and whose connection goes, is signed out once, and only after the answer', async () => {
    const { users, hub, clock, connect, sent } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann', ['bob']);
    void ann.disconnects();
    await settled();
    // Nobody can end a connection that is gone.
    expect(hub.sessions.of(app, 'ann')).toEqual([]);
    expect(users.questions.map(({ call }) => call)).toEqual(['in ann']);
    await users.answers();
    expect(users.questions.map(({ call }) => call)).toEqual(['out ann']);
    await users.answers();
    expect(users.questions).toEqual([]);
    expect(ann.received()).toEqual([]);
    clock.advance(3000);
    // Watchers are notified that the user went offline, whatever they received before.
    expect(sent.at(-1)?.frame).toContain('offline');
    expect(users.connections.get('ann')).toBe(0);
  });

  it('leaves no topic behind when the connection goes', async () => {
    const { users, connect, listenedTo } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann', ['bob']);
    expect(await users.answers()).toBe('in ann');
    expect(users.questions.map(({ call }) => call)).toEqual(['online bob']);
    void ann.disconnects();
    while (users.questions.length > 0) await users.answers();
    expect(listenedTo()).toEqual([]);
    expect(ann.received()).toEqual([SUCCEEDED]);
    expect(users.done).toEqual(['in ann', 'online bob', 'out ann']);
  });
});

describe('a watchlist', () => {
  it('is sent after the confirmation', async () => {
    const { users, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann', ['bob', 'bob']);
    while (users.questions.length > 0) await users.answers();
    expect(users.done).toEqual(['in ann', 'online bob']);
    expect(ann.received()).toEqual([SUCCEEDED, WATCHLIST]);
  });

  it('takes who is just coming back for online, as all others who watch do', async () => {
    const { users, clock, connect } = stage();
    const bob = connect('1.1');
    bob.signsIn('bob');
    await users.answers();
    void bob.disconnects();
    await users.answers();
    clock.advance(2999);
    const ann = connect('1.2');
    ann.signsIn('ann', ['bob']);
    await users.answers();
    await users.answers();
    expect(ann.frames.at(-1)).toContain('online');
    clock.advance(1);
    expect(ann.frames.at(-1)).toContain('offline');
  });

  it('may hold the user, who is online', async () => {
    const { users, connect } = stage();
    const ann = connect('1.1');
    ann.signsIn('ann', ['ann']);
    await users.answers();
    await users.answers();
    expect(ann.frames).toHaveLength(2);
    expect(JSON.parse(JSON.parse(String(ann.frames[1])).data)).toEqual({
      events: [{ name: 'online', user_ids: ['ann'] }],
    });
  });
});

describe('connections that come, sign in and go', () => {
  it('leave nobody online, sign out each once and leave nothing behind, in whatever order the roster answers', async () => {
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
        const { users, hub, clock, connect, sent } = stage();
        const connections = ['1.1', '1.2', '1.3', '1.4'].map(connect);
        const go = (connection: ReturnType<typeof connect>) => {
          if (!connection.session.closed) void connection.disconnects();
        };
        const answer = async (place: number) => {
          if (users.questions.length > 0) await users.answers(place % users.questions.length);
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
            await answer(one.answers);
          } else {
            clock.advance(one.passMs);
          }
        }
        for (const connection of connections) go(connection);
        while (users.questions.length > 0) await answer(users.questions.length - 1);
        clock.advance(3000);
        for (const userId of ['ann', 'bob']) {
          expect(users.connections.get(userId) ?? 0).toBe(0);
          expect(hub.sessions.of(app, userId)).toEqual([]);
          const news = sent.filter(({ topic }) => topic.endsWith(`-${userId}`));
          if (news.length > 0) expect(news.at(-1)?.frame).toContain('offline');
          expect(hub.watchlists.isLeaving(app, userId)).toBe(false);
        }
      }),
    );
  });
});
