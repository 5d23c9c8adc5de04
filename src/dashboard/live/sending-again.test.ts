import { expect, it } from 'bun:test';
import { Failed } from '../api/client.ts';
import type { LiveRecord } from './records.ts';
import { type RecordedEvent, type SendingAgain, sendAgain, sendable } from './sending-again.ts';

const event = (atMs: number, name = 'e'): RecordedEvent => ({
  atMs,
  name,
  channel: 'a',
  data: '1',
});

/** Sends events by a clock that only waiting moves. `refuse` returns what the server answers. */
async function sent(given: Partial<SendingAgain>, refuse: (name: string) => Failed | undefined) {
  const clock = { nowMs: 0, isStopped: false };
  const at: (readonly [string, number])[] = [];
  const done = await sendAgain({
    events: [],
    speed: 1,
    now: () => clock.nowMs,
    async wait(ms) {
      clock.nowMs += ms;
    },
    isStopped: () => clock.isStopped,
    progress: () => undefined,
    async send({ name }) {
      at.push([name, clock.nowMs]);
      const failed = refuse(name);
      if (failed !== undefined) throw failed;
      if (name === 'last') clock.isStopped = true;
    },
    ...given,
  });
  return { at, done };
}

const taken = () => undefined;

it('sends at the times of the recording, or ten times as fast', async () => {
  const events = [event(5_000, 'one'), event(5_000, 'two'), event(7_000, 'three')];
  expect((await sent({ events }, taken)).at).toEqual([
    ['one', 0],
    ['two', 0],
    ['three', 2_000],
  ]);
  expect((await sent({ events, speed: 10 }, taken)).at.at(-1)).toEqual(['three', 200]);
});

it('waits if the rate of the app is used up, and then continues', async () => {
  let refusals = 3;
  const { at, done } = await sent({ events: [event(0), event(1)] }, () =>
    refusals-- > 0 ? new Failed(429, 'too many') : undefined,
  );
  expect(at.map(([, atMs]) => atMs)).toEqual([0, 1_000, 2_000, 3_000, 3_000]);
  expect(done).toEqual({ sent: 2, failed: 0, why: undefined });
});

it('reports what failed, and ends if everything fails', async () => {
  const events = Array.from({ length: 100 }, (_, n) => event(n, String(n)));
  const gone = new Failed(404, 'There is no app x');
  const { at, done } = await sent({ events }, (name) => (Number(name) < 3 ? undefined : gone));
  expect(done).toEqual({ sent: 3, failed: 5, why: 'There is no app x' });
  expect(at).toHaveLength(8);
  const some = await sent({ events }, (name) => (Number(name) % 2 === 0 ? gone : undefined));
  expect(some.done).toMatchObject({ sent: 50, failed: 50 });
});

it('stops on request', async () => {
  const events = [event(0, 'first'), event(1, 'last'), event(2, 'never')];
  expect((await sent({ events }, taken)).done.sent).toBe(2);
});

it('leaves out what the recording has only in part', () => {
  const api: LiveRecord = { n: 1, atMs: 0, kind: 'api', channel: 'a', event: 'e', data: 'ü' };
  const records = [
    { ...api, bytes: 2 },
    { ...api, bytes: 2_000 },
    { ...api, data: undefined } as unknown as LiveRecord,
    { ...api, kind: 'subscribed' },
  ];
  expect(sendable(records)).toEqual({
    events: [{ atMs: 0, name: 'e', channel: 'a', data: 'ü' }],
    leftOut: 2,
  });
});
