import { describe, expect, it } from 'bun:test';
import type { App } from '../app.ts';
import type { EventId } from '../history/event-id.ts';
import type { ResumePlace } from '../history/resume.ts';
import { appWith, channelName, hubWith, LateEngine, sessionOf, settled } from '../hub.fixture.ts';
import { publish } from '../publish.ts';
import { subscribe, unsubscribe } from './subscribe.ts';

const history = [
  { channels: 'x', seconds: 60, events: 10, bytes: 1_000_000, replay: 0 },
  { channels: 'cache-*', seconds: 60, events: 10, bytes: 1_000_000, replay: 0 },
  { channels: 'replayed', seconds: 60, events: 10, bytes: 1_000_000, replay: 2 },
];

function stage(app: App = appWith({ history })) {
  const hub = hubWith();
  let connections = 0;
  return {
    hub,
    app,
    publishes: (name: string, channel = 'x') =>
      publish(hub, { app, channel: channelName(channel), name, data: '', except: undefined }),
    /** What a client receives that subscribes; `waiting`: bytes that it has not read yet. */
    subscribes(channel: string, place?: ResumePlace, waiting = 0) {
      connections++;
      const session = sessionOf(app, `1.${connections}`);
      session.peer.waiting = waiting;
      const message = { channel, auth: undefined, channelData: undefined, place };
      void subscribe(hub, session, { type: 'subscribe', ...message });
      return heardBy(session);
    },
  };
}

function heardBy({ peer }: ReturnType<typeof sessionOf>) {
  return peer.frames.splice(0).map((frame) => {
    const { event, data, id } = JSON.parse(frame);
    const isConfirmation = event === 'pusher_internal:subscription_succeeded';
    return isConfirmation ? JSON.parse(data).resume : id === undefined ? event : `${event} ${id}`;
  });
}

const after = (id: unknown): ResumePlace => ({ after: id as EventId, socketIds: [] });

describe('a client that resumes', () => {
  it('gets its confirmation, and then what it missed, with the ids', () => {
    const { publishes, subscribes } = stage();
    const first = publishes('a');
    const second = publishes('b');
    const third = publishes('c');
    expect(subscribes('x', after(first))).toEqual([
      { ok: true, id: third, missed: 2 },
      `b ${second}`,
      `c ${third}`,
    ]);
  });

  it('gets what it missed in one write', () => {
    const { publishes, hub, app } = stage();
    const first = publishes('a');
    for (const name of ['b', 'c', 'd']) void publishes(name);
    const session = sessionOf(app, '1.1');
    const message = { channel: 'x', auth: undefined, channelData: undefined };
    void subscribe(hub, session, { type: 'subscribe', ...message, place: after(first) });
    expect([session.peer.frames.length, session.peer.writes]).toEqual([4, 2]);
  });

  it('pays for what it gets as a delivery', () => {
    const { publishes, subscribes, hub, app } = stage();
    const first = publishes('a');
    void publishes('b');
    const before = hub.usage.knownOf(app).clients;
    subscribes('x', after(first));
    expect(hub.usage.knownOf(app).clients - before).toBe(1);
    expect(hub.counted).toContain('resumes');
    expect(hub.counted).toContain('eventsReplayed');
  });

  it('gets no more than half of its buffer, less what waits in it', () => {
    const { publishes, subscribes, hub } = stage();
    const first = publishes('a');
    const second = publishes('b');
    const bytes = '{"event":"b","channel":"x","data":"","id":"2-12345678"}'.length;
    const { historySendBytes } = hub;
    expect(subscribes('x', after(first), historySendBytes - bytes)).toHaveLength(2);
    expect(subscribes('x', after(first), historySendBytes - bytes + 1)).toEqual([
      { ok: false, id: second, missed: 0, why: 'too-much' },
    ]);
    // With nothing missed, a full buffer is no gap.
    expect(subscribes('x', after(second), 2 * historySendBytes)).toEqual([
      { ok: true, id: second, missed: 0 },
    ]);
  });

  it('gets no last event of a cache channel besides, and no cache miss', () => {
    const { publishes, subscribes, hub } = stage();
    const start = subscribes('cache-x', after('none'))[0].id;
    expect(subscribes('cache-x', after(start))).toEqual([{ ok: true, id: start, missed: 0 }]);
    const last = publishes('a', 'cache-x');
    expect(subscribes('cache-x', after(last))).toEqual([{ ok: true, id: last, missed: 0 }]);
    expect(subscribes('cache-x', after('1-aaaaaaaa'))).toEqual([
      { ok: false, id: last, missed: 0, why: 'forgotten' },
      `a ${last}`,
    ]);
    hub.clock.advance(31 * 60_000);
    expect(subscribes('cache-x', after('none'))).toEqual([
      { ok: true, id: last, missed: 0 },
      'pusher:cache_miss',
    ]);
  });

  it('is sent no cached id that is not a place any more', () => {
    const { publishes, subscribes, hub, app } = stage();
    void publishes('a', 'cache-x');
    Object.assign(app, { history: [] });
    hub.memory.home.histories.review();
    Object.assign(app, { history });
    const [resume, event] = subscribes('cache-x', after('none'));
    expect(resume.id).toStartWith('0-');
    expect(event).toBe('a');
  });
});

describe('a connection that resumes a channel a second time', () => {
  function again() {
    const { hub, app, publishes } = stage();
    const ids = ['a', 'b', 'c'].map((name) => publishes(name));
    const session = sessionOf(app);
    const message = { auth: undefined, channelData: undefined };
    return {
      ids,
      session,
      resumes(id: unknown) {
        void unsubscribe(hub, session, 'x');
        session.peer.frames.length = 0;
        void subscribe(hub, session, {
          type: 'subscribe',
          channel: 'x',
          ...message,
          place: after(id),
        });
        return heardBy(session);
      },
    };
  }
  const tooMuch = (id: unknown) => [{ ok: false, id, missed: 0, why: 'too-much' }];

  it('after the same event gets nothing twice, for some seconds', () => {
    const { ids, resumes, session } = again();
    const [first, , last] = ids;
    expect(resumes(first)).toHaveLength(3);
    const owed = session.answerDebt;
    expect(resumes(first)).toEqual(tooMuch(last));
    session.secondsPassed(9);
    expect(resumes(first)).toEqual(tooMuch(last));
    // What it is charged for is the confirmations.
    expect(session.answerDebt - owed).toBeLessThan(0.2);
    session.secondsPassed(1);
    expect(resumes(first)).toHaveLength(3);
  });

  it('after another event gets what follows it', () => {
    const { ids, resumes } = again();
    expect(resumes(ids[0])).toHaveLength(3);
    expect(resumes(ids[1])).toHaveLength(2);
  });

  it('without having missed anything is told so', () => {
    const { ids, resumes } = again();
    const id = ids[2];
    for (let n = 0; n < 3; n++) expect(resumes(id)).toEqual([{ ok: true, id, missed: 0 }]);
  });
});

describe('a connection is charged', () => {
  const message = { type: 'subscribe', auth: undefined, channelData: undefined } as const;

  it('for the events that it missed, and for those that were read and are too much', () => {
    const { hub, app, publishes } = stage();
    const first = publishes('a');
    for (let n = 0; n < 8; n++) void publishes('b');
    const resumed = sessionOf(app);
    void subscribe(hub, resumed, { ...message, channel: 'x', place: after(first) });
    const bytes = resumed.peer.frames.join('').length;
    expect(resumed.answerDebt).toBeCloseTo(bytes / 4096 + 8 / 16);
    const slow = sessionOf(app);
    slow.peer.waiting = hub.historySendBytes - 100;
    void subscribe(hub, slow, { ...message, channel: 'x', place: after(first) });
    expect(slow.answerDebt).toBeCloseTo((100 + slow.peer.frames.join('').length) / 4096);
  });

  it('for a replay and a cached event', () => {
    const { hub, app, publishes } = stage();
    for (const channel of ['replayed', 'cache-x']) {
      void publishes('a', channel);
      const session = sessionOf(app);
      void subscribe(hub, session, { ...message, channel, place: undefined });
      expect(session.peer.frames).toHaveLength(2);
      const bytes = session.peer.frames.join('').length;
      expect(session.answerDebt).toBeCloseTo(bytes / 4096 + (channel === 'replayed' ? 1 / 16 : 0));
    }
  });
});

describe('a client that cannot resume', () => {
  it('is not notified of that, and gets the last events only if the rule replays some', () => {
    const { publishes, subscribes } = stage();
    for (const name of ['a', 'b', 'c']) {
      void publishes(name);
      void publishes(name, 'replayed');
    }
    expect(subscribes('x')).toEqual([undefined]);
    const [confirmation, ...events] = subscribes('replayed');
    expect(confirmation).toBeUndefined();
    expect(events.map((text) => text.slice(0, 1))).toEqual(['b', 'c']);
  });

  it('gets no replay instead of what it missed', () => {
    const { publishes, subscribes } = stage();
    const id = publishes('a', 'replayed');
    expect(subscribes('replayed', after('unknown'))).toEqual([
      { ok: false, id, missed: 0, why: 'forgotten' },
    ]);
  });
});

it('sends unchanged frames in channels without a rule, whatever place the client sends', () => {
  const { publishes, subscribes, hub } = stage();
  expect(publishes('a', 'other')).toBeUndefined();
  expect(hub.audience.sent[0]?.frame).toBe('{"event":"a","channel":"other","data":""}');
  expect(subscribes('other', after('none'))).toEqual([undefined]);
});

it('counts what was queued while the authority answered', async () => {
  const engine = new LateEngine();
  const hub = hubWith(engine);
  const app = appWith({ history });
  const event = { app, channel: channelName('x'), name: 'a', data: '', except: undefined };
  for (let n = 0; n < 2; n++) {
    void publish(hub, event);
    await engine.answers('publish x');
  }
  const first = hub.audience.sent.map(({ frame }) => JSON.parse(frame).id)[0];
  const session = sessionOf(app);
  const message = { channel: 'x', auth: undefined, channelData: undefined, place: after(first) };
  void subscribe(hub, session, { type: 'subscribe', ...message });
  session.peer.waiting = hub.historySendBytes;
  await engine.answers('join x');
  await settled();
  expect(heardBy(session)).toMatchObject([{ ok: false, why: 'too-much' }]);
});
