import { expect, it } from 'bun:test';
import { becomes, holdStore } from '../store-trouble.ts';
import { LiveCrowd } from './live-crowd.ts';

/** Longer than the store is locked. Then planning starts without answers. */
const WAIT_SECONDS = 60;

const LONG_MS = 180_000;

const nothing = async () => undefined;

it(
  'notifies nobody who has answered in the app while the store was locked',
  async () => {
    await using crowd = await LiveCrowd.start({}, { answering: 1, silent: 0, absent: 1 });
    const { server } = crowd.site;
    crowd.waitSeconds = WAIT_SECONDS;
    const { promise, resolve } = Promise.withResolvers<() => void>();
    crowd.mayAnswer = resolve;
    await crowd.connect();
    await crowd.publish(1);
    const answer = await promise;
    {
      await using _lock = await holdStore(server);
      answer();
      await server.logged(/The store does not work/);
      // The store has one writer: the answer has failed when this has.
      await crowd.publish(1);
    }
    expect(await becomes(server, /^200/, nothing)).toBe('200 ready\n');
    const [status] = await crowd.untilEnd();
    expect(status?.live).toMatchObject({ state: 'done', reached: 1, absent: 1 });
    expect(await crowd.problems()).toEqual([]);
  },
  LONG_MS,
);
