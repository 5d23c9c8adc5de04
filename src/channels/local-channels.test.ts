import { expect, it } from 'bun:test';
import { appWith, channelName } from './hub.fixture.ts';
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

  channels.leave(first.topic);
  expect(channels.enter(app, channelName('news'))).toBe(first);
  channels.leave(first.topic);
  channels.leave(first.topic);
  expect(channels.size).toBe(1);
  channels.leave(first.topic);
  expect(channels.enter(app, channelName('news'))).not.toBe(first);
});
