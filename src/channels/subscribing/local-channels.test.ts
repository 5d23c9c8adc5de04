import { expect, it } from 'bun:test';
import { appWith, channelName } from '../hub.fixture.ts';
import { LocalChannels } from './local-channels.ts';

it('are the same for all who are in them, and forgotten with the last', () => {
  const channels = new LocalChannels();
  const [app, other] = [appWith(), appWith({ id: 'other' })];
  const first = channels.enter(app, channelName('news'));
  expect(first).toEqual({
    channel: channelName('news'),
    topic: 'app/news' as typeof first.topic,
    member: undefined,
    state: 'joined',
  });
  expect(channels.enter(app, channelName('news'))).toBe(first);
  expect(channels.enter(other, channelName('news'))).not.toBe(first);
  expect(channels.size).toBe(2);

  channels.leave(app, first.topic);
  expect(channels.enter(app, channelName('news'))).toBe(first);
  channels.leave(app, first.topic);
  channels.leave(app, first.topic);
  expect(channels.size).toBe(1);
  channels.leave(app, first.topic);
  expect(channels.enter(app, channelName('news'))).not.toBe(first);
});

it('are bounded in number; the app that has most of them yields to others', () => {
  const channels = new LocalChannels(10);
  const [loud, quiet] = [appWith({ id: 'loud' }), appWith({ id: 'quiet' })];
  for (let n = 0; n < 10; n++) {
    expect(channels.whoYields(loud)).toBeUndefined();
    channels.enter(loud, channelName(`c-${n}`));
  }
  expect(channels.whoYields(loud)).toBe('loud');
  expect(channels.whoYields(quiet)).toBe('loud');
  channels.leave(loud, 'loud/c-1' as never);
  expect(channels.whoYields(loud)).toBeUndefined();
});
