import { expect, it } from 'bun:test';
import { appWith, channelName } from '../hub.fixture.ts';
import { historyRuleOf } from './history-rule.ts';

const rule = (channels: string) => ({ channels, seconds: 1, events: 1, bytes: 1, replay: 0 });

const history = [rule('news'), rule('private-chat-*'), rule('private-chat-1'), rule('#server-*')];
const app = appWith({ history });
const found = (name: string, of = app) => historyRuleOf(of, channelName(name).text);

it('is the first rule that fits the name of the channel or its beginning', () => {
  expect(found('news')).toBe(history[0]);
  expect(found('private-chat-1')).toBe(history[1]);
  expect(found('private-chat-')).toBe(history[1]);
  expect(found('#server-to-user-1')).toBe(history[3]);
  for (const name of ['news-2', 'new', 'private-chat', 'chat-1', 'NEWS']) {
    expect(found(name)).toBeUndefined();
  }
});

it('fits every channel with a star alone', () => {
  expect(found('x', appWith({ history: [rule('*')] }))).toBeDefined();
});

it('is none of a disabled app', () => {
  expect(found('news', appWith({ history, enabled: false }))).toBeUndefined();
});
