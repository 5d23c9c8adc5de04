/** A node of a cluster without sockets. Its parent calls its engine over IPC. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChannelName, parseChannelName } from '../../src/channels/channel-name.ts';
import { topicOf } from '../../src/channels/event.ts';
import { WebhookEvents } from '../../src/channels/lifecycle/webhook-events.ts';
import type { Audience, Member } from '../../src/channels/ports.ts';
import { parseSocketId } from '../../src/channels/socket-id.ts';
import { LocalChannels } from '../../src/channels/subscribing/local-channels.ts';
import { Usage } from '../../src/channels/usage/usage.ts';
import { eventMessage } from '../../src/channels/wire.ts';
import { appSettings } from '../../src/config/settings/channels-settings.ts';
import { createRedisEngine } from '../../src/engines/redis/create-engine.ts';
import type { RedisEngine } from '../../src/engines/redis/engine.ts';
import { ClusterQuotas } from '../../src/engines/redis/quotas/cluster-quotas.ts';
import { monotonicTimers, systemTimers } from '../../src/runtime/system-timers.ts';
import { benchApp } from '../bench-app.ts';
import { answerCalls, type Call } from '../machine/called-process.ts';
import type { Busy, Channels, EngineCalls } from './engine-calls.ts';

const app = appSettings.parse({
  id: benchApp.id,
  keys: [{ key: benchApp.key, secret: benchApp.secret }],
  limits: { presenceMembers: 0 },
});
/** As an application sends it of a user. */
const USER_INFO = JSON.stringify({ name: 'Ann Example', avatar: '/a/1.png' });
const EVENT_DATA = 'x'.repeat(200);
const FILLED_AT_ONCE = 1000;
const CHECK_MS = 10;

const nothing = () => undefined;
const log = { debug: nothing, info: nothing, warn: console.error, error: console.error };
const channels = new LocalChannels();
const socketId = parseSocketId('1.1');
let engine: RedisEngine | undefined;
let users = 0;
let gone = 0;

const audience: Pick<Audience, 'send'> = {
  send(_, makeFrame) {
    if (makeFrame().includes('"pusher_internal:member_removed"')) gone++;
    return 1;
  },
};

async function start(url: string): Promise<null> {
  const usage = new Usage({ clock: systemTimers, log, meter: { count: nothing } });
  engine = createRedisEngine({
    urls: [url],
    keyPrefix: 'bench:',
    apps: { byId: () => app, byKey: () => app },
    allApps: () => [app],
    historyBytes: 0,
    eventsLost: nothing,
    log,
    meter: { count: nothing, observe: nothing },
    webhooks: new WebhookEvents({ clock: systemTimers, usage, sink: { emit: nothing } }),
    // The engine only sends.
    broadcaster: { usage, audience: audience as Audience },
    terminate: nothing,
    quotas: new ClusterQuotas({
      serverName: 'bench',
      timers: monotonicTimers,
      openConnections: () => [],
    }),
  });
  await engine.start();
  return null;
}

function started(): RedisEngine {
  if (engine === undefined) throw new Error('start comes first');
  return engine;
}

function namesOf({ prefix, count }: Channels): ChannelName[] {
  return Array.from({ length: count }, (_, number) => {
    const parsed = parseChannelName(`${prefix}-${number}`);
    if (!parsed.ok) throw new Error(parsed.why);
    return parsed.channel;
  });
}

function newMember({ kind }: ChannelName): Member | undefined {
  users++;
  return kind === 'presence'
    ? { userId: `${process.pid}-${users}`, userInfo: USER_INFO }
    : undefined;
}

async function join(channel: ChannelName, member: Member | undefined): Promise<void> {
  if (socketId === undefined) throw new Error('no socket id');
  const { subscriptions: held } = channels.enter(app, channel, member);
  if (!(await started().join({ app, channel, held, member, newcomer: { socketId } }, nothing))) {
    throw new Error(`${channel.text} is full`);
  }
}

async function leave(channel: ChannelName, member: Member | undefined): Promise<void> {
  const { subscriptions: held } = channels.leave(app, topicOf(app, channel), member);
  await started().leave({ app, channel, held, userId: member?.userId });
}

async function fill(names: readonly ChannelName[], membersEach: number): Promise<null> {
  const joins = Array.from({ length: membersEach }, () => names).flat();
  for (let from = 0; from < joins.length; from += FILLED_AT_ONCE) {
    const some = joins.slice(from, from + FILLED_AT_ONCE);
    await Promise.all(some.map((channel) => join(channel, newMember(channel))));
  }
  return null;
}

/** Works on one channel after the other, with `atOnce` calls in flight. Returns the number of calls. */
async function keepBusy(
  { channels, atOnce, seconds }: Busy,
  work: (channel: ChannelName) => Promise<void>,
): Promise<number> {
  const names = namesOf(channels);
  const endMs = performance.now() + seconds * 1000;
  let done = 0;
  const worker = async (first: number) => {
    for (let at = first; performance.now() < endMs; at += atOnce) {
      const channel = names[at % names.length];
      if (channel === undefined) throw new Error('no channels');
      await work(channel);
      done++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, first) => worker(first)));
  return done;
}

async function joinAndLeave(channel: ChannelName): Promise<void> {
  const member = newMember(channel);
  await join(channel, member);
  await leave(channel, member);
}

async function publish({ text }: ChannelName): Promise<void> {
  await started().publish({
    app,
    channel: text,
    makeFrame: () => eventMessage('event', text, EVENT_DATA),
    cause: 'backend',
    remember: undefined,
  });
}

async function untilGone(members: number, seconds: number): Promise<null> {
  const before = gone;
  const endMs = performance.now() + seconds * 1000;
  while (gone - before < members) {
    if (performance.now() > endMs) throw new Error(`${members - gone + before} members are left`);
    await sleep(CHECK_MS);
  }
  return null;
}

async function answer(call: Call<EngineCalls>): Promise<EngineCalls[keyof EngineCalls]['answer']> {
  switch (call.name) {
    case 'start':
      return await start(call.ask.url);
    case 'listen':
      return await fill(namesOf(call.ask), 1);
    case 'fill':
      return await fill(namesOf(call.ask.channels), call.ask.membersEach);
    case 'churn':
      return 2 * (await keepBusy(call.ask, joinAndLeave));
    case 'publish':
      return await keepBusy(call.ask, publish);
    case 'untilGone':
      return await untilGone(call.ask.members, call.ask.seconds);
    default:
      return call satisfies never;
  }
}

answerCalls(answer);
