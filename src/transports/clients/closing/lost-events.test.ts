import { expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { appWith, channelName, FakeClock, subscriptionTo } from '../../../channels/hub.fixture.ts';
import type { LostEvents } from '../../../channels/lost-events.ts';
import { connectionsWith, FakeConnection } from '../connection.fixture.ts';
import { LostEventsCloser } from './lost-events.ts';

const app = appWith({ id: 'app' });
const other = appWith({ id: 'other' });

interface Client {
  readonly of?: typeof app;
  readonly channels: readonly string[];
  readonly canResume?: boolean;
}

function stage(clients: readonly Client[]) {
  const clock = new FakeClock();
  const all = clients.map(({ of = app, channels, canResume = false }, n) => {
    const connection = new FakeConnection({ id: `${n + 1}.1`, app: of });
    connection.canResume = canResume;
    for (const channel of channels) connection.add(subscriptionTo(of, channel));
    return connection;
  });
  const connections = connectionsWith(all);
  for (const connection of all) connection.onClose = () => connections.remove(connection);
  const closer = new LostEventsCloser(connections, clock);
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      await nextTurn();
    }
  };
  const isClosed = () => all.map(({ isOpen }) => !isOpen);
  return { all, closer, pass, isClosed };
}

const lost = (channel: string, affects: LostEvents['affects'] = 'all', of = app): LostEvents => ({
  app: of,
  channel: channelName(channel).text,
  affects,
});

it('closes who subscribes to one of the channels, and nobody else, so that they come back at once', async () => {
  const many = Array.from({ length: 20 }, (_, n) => `c-${n}`);
  const { all, closer, pass, isClosed } = stage([
    { channels: ['news'] },
    { channels: ['sport'] },
    { channels: [] },
    { of: other, channels: ['news'] },
    { channels: [...many, 'news'] },
    { channels: many },
  ]);
  closer.close([lost('news'), lost('weather')]);
  await pass(300);
  expect(isClosed()).toEqual([true, false, false, false, true, false]);
  expect(all[0]?.sent.at(-1)).toStartWith('closed with 4200: Events may have been missed');
});

it('closes who can resume before anything else happens, and the others after', () => {
  const { closer, isClosed } = stage([
    { channels: ['news'] },
    { channels: ['news'], canResume: true },
  ]);
  closer.close([lost('news')]);
  expect(isClosed()[1]).toBe(true);
});

it('leaves clients alone that have every event, where only the history is lost', async () => {
  const { closer, pass, isClosed } = stage([
    { channels: ['news'] },
    { channels: ['news'], canResume: true },
  ]);
  closer.close([lost('news', 'resuming')]);
  await pass(5000);
  expect(isClosed()).toEqual([false, true]);
});

it('closes many in small steps over four seconds, also those that are added meanwhile', async () => {
  const { closer, pass, isClosed } = stage([
    ...Array.from({ length: 4000 }, () => ({ channels: ['news'] })),
    ...Array.from({ length: 1000 }, () => ({ channels: ['sport'] })),
  ]);
  const closed = () => isClosed().filter(Boolean).length;
  closer.close([lost('news')]);
  await pass(1000);
  expect(closed()).toBeWithin(900, 1200);
  closer.close([lost('news'), lost('sport')]);
  await pass(1000);
  expect(closed()).toBeWithin(2000, 2700);
  await pass(2200);
  expect(closed()).toBe(5000);
});
