import { expect, it } from 'bun:test';
import { runs } from '../../../testing/long-run.ts';
import { LiveCrowd } from './live-crowd.ts';

const THIRD = runs(30, 667);

it(
  'pushes a publish with a live part to exactly those who do not answer in the app',
  async () => {
    const size = { answering: THIRD, silent: THIRD, absent: THIRD };
    await using crowd = await LiveCrowd.start({}, size);
    await crowd.connect();
    await crowd.publish(1);
    const statuses = await crowd.untilEnd();
    expect(statuses.every(({ live }) => live.state === 'done')).toBe(true);
    const sum = (what: 'reached' | 'silent' | 'absent') =>
      statuses.reduce((all, { live }) => all + live[what], 0);
    expect([sum('reached'), sum('silent'), sum('absent')]).toEqual([THIRD, THIRD, THIRD]);
    expect(await crowd.problems()).toEqual([]);
  },
  runs(180_000, 600_000),
);
