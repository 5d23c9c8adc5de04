import { expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { Silence } from './silence.ts';

it('asks a silent server for a message, and gives up if none comes', async () => {
  const timers = new FakeTime();
  const happened: string[] = [];
  using silence = new Silence({
    timers,
    activityMs: 10_000,
    pongMs: 5000,
    ping: () => happened.push(`ping ${timers.now()}`),
    onSilent: (ms) => happened.push(`silent for ${ms} at ${timers.now()}`),
  });
  const startMs = timers.now();

  await timers.advance(9000);
  silence.heard();
  await timers.advance(9000);
  expect(happened).toEqual([]);
  await timers.advance(2000);
  silence.heard();
  await timers.advance(4000);
  expect(happened).toEqual([`ping ${startMs + 19_000}`]);

  await timers.advance(60_000);
  expect(happened).toEqual([
    `ping ${startMs + 19_000}`,
    `ping ${startMs + 34_100}`,
    `silent for 19200 at ${startMs + 39_200}`,
  ]);
});
