import { expect, it } from 'bun:test';
import { appWith } from '../../channels/hub.fixture.ts';
import { Unreadable } from '../../runtime/unreadable.ts';
import type { Home } from '../home.ts';
import { TopicHomeServer } from './home-server.ts';
import type { EngineMessage, Question } from './messages.ts';

it('answers a question that it cannot handle, so that the next answer belongs to the next question', () => {
  const app = appWith();
  const sent: EngineMessage[] = [];
  const home = {
    counts() {
      throw new Error('a fault');
    },
    channelCountOf: () => 7,
  };
  const server = new TopicHomeServer({
    home: home as unknown as Home,
    apps: { byId: () => app, byKey: () => undefined },
    loops: [0, 1],
    terminate: () => undefined,
    send: (_, message) => sent.push(message),
  });
  const asks = (...question: unknown[]) => server.answer(1, question as unknown as Question);

  expect(() => asks('counts', app.id, 'presence-x')).toThrow('a fault');
  expect(() => asks('of-a-later-version', app.id)).toThrow(Unreadable);
  asks('channel-count', app.id);

  expect(sent).toEqual([
    ['failed', 0, 'a fault'],
    ['failed', 0, 'Its kind is not known'],
    ['answer', 0, 7],
  ]);
});
