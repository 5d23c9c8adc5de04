import { expect, it } from 'bun:test';
import type { App } from '../../../channels/app.ts';
import {
  appWith,
  channelName,
  hubWith,
  LateEngine,
  settled,
} from '../../../channels/hub.fixture.ts';
import type { SourceEvent } from '../../../channels/sources/source-event.ts';
import { sendSourceEvents } from './source-events.ts';

const event = (channels: string, key = channels): SourceEvent => ({
  json: JSON.stringify({ name: 'e', channels: channels.split(' '), data: '1' }),
  key,
});

let turns = 0;
const nextTurn = async () => void turns++;

const waiting = (engine: LateEngine) => engine.questions.map(({ call }) => call);

/** The statuses of events that are sent by a hub in memory. */
async function statusesOf(app: App, events: readonly SourceEvent[]): Promise<readonly number[]> {
  const answers = await sendSourceEvents(
    { hub: hubWith(), app, isOver: () => false, nextTurn },
    events,
  );
  return answers.map(({ status }) => status);
}

const limited = (limits: Partial<App['limits']>, settings: Partial<App> = {}): App => {
  const app = appWith(settings);
  return { ...app, limits: { ...app.limits, ...limits } };
};

it('sends events of a channel one after the other, and those of others meanwhile', async () => {
  const engine = new LateEngine();
  const events = ['a', 'a', 'b', 'a'].map((channel) => event(channel));
  const send = { hub: hubWith(engine), app: appWith(), isOver: () => false, nextTurn };
  const answers = sendSourceEvents(send, events);
  await settled();
  expect(waiting(engine)).toEqual(['publish a', 'publish b']);
  await engine.answers('publish a');
  expect(waiting(engine)).toEqual(['publish b', 'publish a']);
  await engine.answers('publish b');
  await engine.answers('publish a');
  await engine.answers('publish a');
  expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

it('lets an event of several channels wait for all before it, and all behind it for that', async () => {
  const engine = new LateEngine();
  const events = ['a', 'b', 'b c', 'a', 'd'].map((channels) => event(channels));
  const send = { hub: hubWith(engine), app: appWith(), isOver: () => false, nextTurn };
  const answers = sendSourceEvents(send, events);
  await settled();
  await engine.answers('publish a');
  expect(waiting(engine)).toEqual(['publish b']);
  await engine.answers('publish b');
  await engine.answers('publish b');
  expect(waiting(engine)).toEqual(['publish c']);
  await engine.answers('publish c');
  expect(waiting(engine)).toEqual(['publish a', 'publish d']);
  await engine.answersNext();
  await engine.answersNext();
  expect((await answers).every(({ status }) => status === 200)).toBe(true);
});

it('begins no further event once one could not be sent, or there is no more time', async () => {
  const engine = new LateEngine();
  let isOver = false;
  const send = { hub: hubWith(engine), app: appWith(), isOver: () => isOver, nextTurn };
  const answers = sendSourceEvents(send, [event('a', '1'), event('a', '2'), event('b', '3')]);
  await settled();
  isOver = true;
  await engine.answersNext();
  await engine.answersNext();
  expect((await answers).map(({ status }) => status)).toEqual([200, 0, 200]);
  const app = limited({ messagesPerDay: 2 });
  expect(await statusesOf(app, ['a', 'b', 'c', 'a'].map((one) => event(one)))).toEqual([200, 200, 403, 0]); // biome-ignore format: one line
  const slow = limited({ triggersPerSecond: 1 });
  expect(await statusesOf(slow, [event('a', '1'), event('a', '2'), event('b')])).toEqual([200, 429, 0]); // biome-ignore format: one line
});

it('goes on after events that break a rule', async () => {
  const bad: readonly SourceEvent[] = [
    { json: 'no json', key: '1' },
    { json: '{}', key: '2' },
    { json: '{"name":"e","channel":"no spaces","data":"1"}', key: '3' },
    { json: `{"name":"e","channel":"a","data":"${'x'.repeat(20_000)}"}`, key: '4' },
    { json: '{"name":"e","channel":"cache-a","data":"x","append":{"id":"1","at":0}}', key: '5' },
  ];
  const app = limited({ appendBytes: 1_000 });
  expect(await statusesOf(app, [...bad, event('a')])).toEqual([400, 400, 400, 413, 400, 200]);
});

it('answers for a disabled app, and for an engine that fails, without sending', async () => {
  const events = [event('a'), event('b')];
  expect(await statusesOf(appWith({ enabled: false }), events)).toEqual([403, 0]);
  const hub = hubWith();
  const broken = { ...hub, authority: { ...hub.authority, publish: () => Promise.reject(new Error('no')) } }; // biome-ignore format: one line
  const send = {
    hub: broken as unknown as typeof hub,
    app: appWith(),
    isOver: () => false,
    nextTurn,
  };
  const answers = await sendSourceEvents(send, [event('a', '1'), event('a', '2')]);
  expect(answers.map(({ status }) => status)).toEqual([503, 0]);
});

it('sends an event that is repeated once, by its key or that of its body', async () => {
  const hub = hubWith();
  const rule = { channels: 'a', seconds: 60, events: 10, bytes: 10_000, replay: 0 };
  const app = limited({ historyBytes: 10_000 }, { history: [rule] });
  const own = { json: '{"name":"e","channel":"a","data":"1","idempotency_key":"own"}', key: '1' };
  const send = { hub, app, isOver: () => false, nextTurn };
  const events = [event('a', '1'), event('a', '1'), own, { ...own, key: '2' }];
  for (let repetition = 0; repetition < 2; repetition++) {
    const answers = await sendSourceEvents(send, events);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  }
  const page = await hub.memory.history(app, channelName('a'), {
    order: 'newest-first',
    before: undefined,
    limit: 10,
  });
  expect(page.events).toHaveLength(2);
});

it('lets the loop do other work between pieces of 64', async () => {
  turns = 0;
  const events = Array.from({ length: 129 }, (_, n) => event('a', `${n}`));
  expect(await statusesOf(appWith(), events)).toEqual(events.map(() => 200));
  expect(turns).toBe(2);
});
