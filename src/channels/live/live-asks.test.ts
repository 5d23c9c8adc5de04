import { expect, it } from 'bun:test';
import type { App } from '../app.ts';
import type { ChannelText } from '../channel-name.ts';
import { appWith, channelName, hubWith, sessionOf, subscriptionTo } from '../hub.fixture.ts';
import type { Publication } from '../ports.ts';
import type { AskedUsers, AskMessage } from './ask.ts';
import { LiveAsks } from './live-asks.ts';

const WAIT_MS = 4_000;

/** An app with users who are connected, and what asks them. */
function scene(app: App = appWith()) {
  const hub = hubWith();
  const send = (_loop: string, message: AskMessage) => void hub.askMessages.push(message);
  const asks = new LiveAsks({ hub, origin: 'here', send, timers: hub.clock });
  let connections = 0;
  return {
    hub,
    asks,
    /** A user connects and receives the events for that user, or those of another channel. */
    connects(
      userId: string,
      {
        channel = `#server-to-user-${userId}`,
        isLive = true,
      }: { readonly channel?: string; readonly isLive?: boolean } = {},
    ) {
      connections++;
      const session = sessionOf(app, `1.${connections}`);
      session.user = {
        id: userId,
        userInfo: undefined,
        watchlist: [],
        ...(isLive ? {} : { isLive: false }),
      };
      hub.sessions.add(userId, session);
      session.add(subscriptionTo(app, channel));
      void hub.authority.join(
        {
          app,
          channel: channelName(channel),
          held: connections,
          member: undefined,
          newcomer: session,
          history: undefined,
        },
        () => undefined,
      );
      return session;
    },
    asksFor(userIds: readonly string[], channel?: string) {
      const event = { name: 'job-done', data: '{}', channel, userIds, waitMs: WAIT_MS };
      const answer = asks.ask(app, event);
      this.delivers();
      return answer;
    },
    /** Asks about an event that was sent before. */
    asksAgain(userIds: AskedUsers, channel: string) {
      const event = { name: '', data: '', channel, userIds, waitMs: WAIT_MS, isSent: true };
      const answer = asks.ask(app, event);
      this.delivers();
      return answer;
    },
    /** What the loop has sent to itself arrives. */
    delivers() {
      for (let message = hub.askMessages.shift(); message; message = hub.askMessages.shift()) {
        if (message.what === 'more') hub.asked.askMore(message);
        else asks.take(message);
      }
    },
  };
}

/** An authority whose three loops have the channel of an event. */
function publishesToThree({ sentTo }: Publication): undefined {
  sentTo?.(3);
}

/** The number of the last probe that a connection was sent. */
function lastProbe(session: ReturnType<typeof sessionOf>): string {
  return String(JSON.parse(session.peer.frames.at(-1) ?? '{}').data);
}

it('reports at once who is absent', async () => {
  expect(await scene().asksFor(['ann', 'bob'])).toEqual({
    users: ['ann', 'bob'].map((userId) => ({
      userId,
      state: 'absent',
      connections: 0,
      answeredAfterMs: undefined,
    })),
  });
});

it('ends when every user with a connection has answered, with the time of the first answer', async () => {
  const on = scene();
  const [phone, laptop] = [on.connects('ann'), on.connects('ann')];
  const answer = on.asksFor(['ann', 'bob']);
  on.hub.clock.advance(150);
  expect(on.hub.asked.pong(laptop, lastProbe(laptop))).toBe(true);
  on.delivers();
  expect(await answer).toEqual({
    users: [
      { userId: 'ann', state: 'reached', connections: 2, answeredAfterMs: 150 },
      { userId: 'bob', state: 'absent', connections: 0, answeredAfterMs: undefined },
    ],
  });
  // An answer that comes later changes nothing.
  on.hub.asked.pong(phone, lastProbe(phone));
  on.delivers();
});

it('reports a user as silent whose connections have not answered in time', async () => {
  const on = scene();
  const phone = on.connects('ann');
  const answer = on.asksFor(['ann']);
  expect(on.hub.asked.pong(phone, 'no number of ours')).toBe(false);
  on.hub.clock.advance(WAIT_MS);
  expect(await answer).toMatchObject({ users: [{ state: 'silent', connections: 1 }] });
});

it('asks neither connections that are away nor those of programs, nor any outside of the channel', async () => {
  const on = scene();
  on.hub.asked.setAway(on.connects('ann'), true);
  on.connects('bob', { isLive: false });
  on.connects('cid', { channel: 'news' });
  const { users } = (await on.asksFor(['ann', 'bob', 'cid'])) as { users: readonly object[] };
  expect(users).toMatchObject(['ann', 'bob', 'cid'].map(() => ({ state: 'absent' })));
});

it('asks a connection again that came back from being away', async () => {
  const on = scene();
  const phone = on.connects('ann');
  on.hub.asked.setAway(phone, true);
  on.hub.asked.setAway(phone, false);
  const answer = on.asksFor(['ann']);
  on.hub.asked.pong(phone, lastProbe(phone));
  on.delivers();
  expect(await answer).toMatchObject({ users: [{ state: 'reached' }] });
});

it('sends the event once to a channel, and asks 20 connections of a user at most', async () => {
  const on = scene();
  const all = Array.from({ length: 25 }, () => on.connects('ann', { channel: 'private-room' }));
  const answer = on.asksFor(['ann', 'bob'], 'private-room');
  // Old ones may be dead without anybody knowing it.
  expect(all.map(({ peer }) => peer.frames.length)).toEqual([
    ...Array(5).fill(0),
    ...Array(20).fill(1),
  ]);
  on.hub.clock.advance(WAIT_MS);
  expect(await answer).toMatchObject({
    users: [
      { state: 'silent', connections: 20 },
      { state: 'absent', connections: 0 },
    ],
  });
  expect(on.hub.audience.sent.map(({ topic }) => topic)).toEqual(['app/private-room' as never]);
});

it('asks two connections of a user at once, and no more if one of them answers before all loops have reported', async () => {
  const on = scene();
  const all = Array.from({ length: 5 }, () => on.connects('ann'));
  const event = { name: 'e', data: '', channel: undefined, userIds: ['ann'], waitMs: WAIT_MS };
  const answer = on.asks.ask(appWith(), event);
  const newest = all[4];
  if (newest !== undefined) on.hub.asked.pong(newest, lastProbe(newest));
  const [report, answered] = on.hub.askMessages.splice(0);
  for (const one of [answered, report])
    if (one !== undefined && one.what !== 'more') on.asks.take(one);
  on.delivers();
  expect(await answer).toMatchObject({ users: [{ state: 'reached', connections: 2 }] });
  expect(all.map(({ peer }) => peer.frames.length)).toEqual([0, 0, 0, 1, 1]);
});

it('divides the connections that may still be asked among the loops', async () => {
  const on = scene();
  on.connects('ann');
  const sent: (readonly [loop: string, message: AskMessage])[] = [];
  const asks = new LiveAsks({
    hub: { ...on.hub, authority: { ...on.hub.authority, publish: publishesToThree } },
    origin: 'here',
    send: (...message) => void sent.push(message),
    timers: on.hub.clock,
  });
  const event = { name: 'e', data: '', channel: undefined, userIds: ['ann'], waitMs: WAIT_MS };
  const answer = asks.ask(appWith(), event);
  for (const [loop, connections] of [
    ['a', 18],
    ['b', 3],
    ['c', 18],
  ] as const) {
    const others = { loop, connections: [['ann', connections]] } as const;
    asks.take({ what: 'asked', attempt: 1, connections: [['ann', 2]], others });
  }
  const place = { attempt: 1, origin: 'here', appId: 'app', channel: '#server-to-user-ann' };
  const more = (count: number) => ({
    what: 'more',
    ...place,
    waitMs: WAIT_MS,
    connections: [['ann', count]],
  });
  expect(sent as unknown).toEqual([
    ['b', more(3)],
    ['a', more(6)],
    ['c', more(5)],
  ]);
  on.hub.clock.advance(WAIT_MS);
  expect(await answer).toMatchObject({ users: [{ state: 'silent', connections: 20 }] });
});

it('asks all connections at once for a server of the previous release, which divides nothing', () => {
  const { hub, connects } = scene();
  const all = Array.from({ length: 5 }, () => connects('ann'));
  const ask = { attempt: 1, origin: 'old', waitMs: WAIT_MS, connectionsMax: 4, userIds: ['ann'] };
  hub.asked.ask(appWith(), '#server-to-user-ann' as ChannelText, ask);
  expect(all.map(({ peer }) => peer.frames.length)).toEqual([0, 1, 1, 1, 1]);
  expect(hub.askMessages).toEqual([{ what: 'asked', attempt: 1, connections: [['ann', 4]] }]);
});

it('counts a pong as the answer to all pings before it, as clients may answer the last one only', async () => {
  const on = scene();
  const phone = on.connects('ann');
  const [first, second, third] = [on.asksFor(['ann']), on.asksFor(['ann']), on.asksFor(['ann'])];
  const numbers = phone.peer.frames.map((frame) => String(JSON.parse(frame).data));
  expect(on.hub.asked.pong(phone, numbers[1] ?? '')).toBe(true);
  on.delivers();
  for (const answer of [first, second]) {
    expect(await answer).toMatchObject({ users: [{ state: 'reached' }] });
  }
  on.hub.clock.advance(WAIT_MS);
  expect(await third).toMatchObject({ users: [{ state: 'silent' }] });
});

it('does not ask a connection that owes a hundred answers, until they are too late', async () => {
  const on = scene();
  const phone = on.connects('ann');
  const answers = Array.from({ length: 102 }, () => on.asksFor(['ann']));
  expect(phone.peer.frames).toHaveLength(100);
  on.hub.clock.advance(WAIT_MS);
  for (const answer of await Promise.all(answers)) {
    expect(answer).toMatchObject({ users: [{ state: 'silent' }] });
  }
  on.hub.clock.advance(2_000);
  void on.asksFor(['ann']);
  expect(phone.peer.frames).toHaveLength(101);
});

it('asks about an event that was sent before without sending it, and uses up no quota', async () => {
  const limits = { ...appWith().limits, messagesPerDay: 1 };
  const on = scene(appWith({ limits }));
  const phone = on.connects('ann', { channel: 'private-room' });
  for (let n = 0; n < 3; n++) {
    const answer = on.asksAgain(['ann', 'bob'], 'private-room');
    on.hub.asked.pong(phone, lastProbe(phone));
    on.delivers();
    expect(await answer).toMatchObject({ users: [{ state: 'reached' }, { state: 'absent' }] });
  }
  expect(on.hub.audience.sent).toEqual([]);
});

it('asks many users in several turns, and counts answers that overtake the report', async () => {
  const on = scene();
  const users = Array.from({ length: 250 }, (_, n) => `user-${n}`);
  const phones = users.map((user) => on.connects(user, { channel: 'private-room' }));
  const answer = on.asksFor(users, 'private-room');
  const asked = () => phones.filter(({ peer }) => peer.frames.length > 0).length;
  expect(asked()).toBe(50);
  for (const phone of phones.slice(0, 50)) on.hub.asked.pong(phone, lastProbe(phone));
  on.delivers();
  on.hub.clock.advance(1);
  expect(asked()).toBe(250);
  for (const phone of phones.slice(50)) on.hub.asked.pong(phone, lastProbe(phone));
  on.delivers();
  expect(await answer).toEqual({
    users: users.map((userId) =>
      expect.objectContaining({ userId, state: 'reached', connections: 1 }),
    ),
  });
});

it('asks every signed-in user who is subscribed to the channel, and ends when all have answered', async () => {
  const on = scene();
  const ann = on.connects('ann', { channel: 'news' });
  const bob = on.connects('bob', { channel: 'news' });
  on.connects('cid', { channel: 'other' });
  on.hub.asked.setAway(on.connects('dan', { channel: 'news' }), true);
  const answer = on.asksAgain('signed-in', 'news');
  for (const phone of [ann, bob]) on.hub.asked.pong(phone, lastProbe(phone));
  on.delivers();
  expect(await answer).toMatchObject({
    users: [
      { userId: 'ann', state: 'reached', connections: 1 },
      { userId: 'bob', state: 'reached', connections: 1 },
    ],
  });
});

it('ends at once if no signed-in user is subscribed to the channel', async () => {
  expect(await scene().asksAgain('signed-in', 'news')).toEqual({ users: [] });
});

it('reports users as silent whom a loop has named and who do not answer', async () => {
  const on = scene();
  on.connects('ann', { channel: 'news' });
  const answer = on.asksAgain('signed-in', 'news');
  on.hub.clock.advance(WAIT_MS);
  expect(await answer).toMatchObject({ users: [{ userId: 'ann', state: 'silent' }] });
});

it('skips an app that is disabled, gone, or over its quota', async () => {
  const disabled = scene(appWith({ enabled: false }));
  expect(await disabled.asksFor(['ann'])).toEqual({ skipped: 'app-disabled' });
  const { asks } = scene();
  const event = { name: 'e', data: '', channel: undefined, userIds: ['ann'], waitMs: WAIT_MS };
  expect(await asks.ask(undefined, event)).toEqual({ skipped: 'app-disabled' });
  const limits = { ...appWith().limits, messagesPerDay: 1 };
  const small = scene(appWith({ limits }));
  expect(await small.asksFor(['ann', 'bob'])).toEqual({ skipped: 'over-quota' });
});

it('reports a user as silent, not absent, if some loop has not reported', async () => {
  const on = scene();
  const event = { name: 'e', data: '', channel: undefined, userIds: ['ann'], waitMs: WAIT_MS };
  const answer = on.asks.ask(appWith(), event);
  // The report is lost.
  on.hub.askMessages.splice(0);
  on.hub.clock.advance(WAIT_MS);
  expect(await answer).toMatchObject({ users: [{ userId: 'ann', state: 'silent' }] });
});
