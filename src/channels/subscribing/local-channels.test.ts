import { expect, it } from 'bun:test';
import { appWith, channelName } from '../hub.fixture.ts';
import { LocalChannels } from './local-channels.ts';

it('are the same for all who are in them, and forgotten with the last', () => {
  const channels = new LocalChannels();
  const [app, other] = [appWith(), appWith({ id: 'other' })];
  const enter = (of: typeof app) => channels.enter(of, channelName('news'), undefined).shared;
  const first = enter(app);
  const leave = () => channels.leave(app, first.topic, undefined);
  expect(first).toEqual({
    channel: channelName('news'),
    topic: 'app/news' as typeof first.topic,
    member: undefined,
    state: 'joined',
  });
  expect(enter(app)).toBe(first);
  expect(enter(other)).not.toBe(first);
  expect(channels.size).toBe(2);

  leave();
  expect(enter(app)).toBe(first);
  leave();
  leave();
  expect(channels.size).toBe(1);
  leave();
  expect(enter(app)).not.toBe(first);
});

it('count the subscriptions of a loop, in all and by user', () => {
  const channels = new LocalChannels();
  const app = appWith();
  const room = channelName('presence-room');
  const [ann, bob] = ['ann', 'bob'].map((userId) => ({ userId, userInfo: undefined }));
  const { topic } = channels.enter(app, room, ann).shared;
  channels.enter(app, room, ann);
  expect(channels.enter(app, room, bob).subscriptions).toBe(3);
  expect(channels.leave(app, topic, ann)).toEqual({ subscriptions: 2, ofUser: 1 });
  expect(channels.leave(app, topic, ann)).toEqual({ subscriptions: 1, ofUser: 0 });
  expect(channels.leave(app, topic, bob)).toEqual({ subscriptions: 0, ofUser: 0 });
  // Nothing is left to leave.
  expect(channels.leave(app, topic, bob)).toEqual({ subscriptions: 0, ofUser: 0 });
});

it('are bounded in number; the app that has most of them yields to others', () => {
  const channels = new LocalChannels(10);
  const [loud, quiet] = [appWith({ id: 'loud' }), appWith({ id: 'quiet' })];
  for (let n = 0; n < 10; n++) {
    expect(channels.ownerToEvict(loud)).toBeUndefined();
    channels.enter(loud, channelName(`c-${n}`), undefined);
  }
  expect(channels.ownerToEvict(loud)).toBe('loud');
  expect(channels.ownerToEvict(quiet)).toBe('loud');
  channels.leave(loud, 'loud/c-1' as never, undefined);
  expect(channels.ownerToEvict(loud)).toBeUndefined();
});
