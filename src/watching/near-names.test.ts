import { expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FakeClock } from '../channels/hub.fixture.ts';
import type { RecordUpdate } from './merger.ts';
import { NearNames } from './near-names.ts';

it('searches again after a search that was not answered, and not after one that was', async () => {
  const timers = new FakeClock();
  const answers: (() => Promise<string | undefined>)[] = [
    () => Promise.reject(new Error('busy')),
    () => Promise.resolve('news'),
  ];
  const found: RecordUpdate[] = [];
  const near = new NearNames({
    timers,
    find: () => answers.shift()?.() ?? Promise.reject(new Error('asked again')),
    found: (_, update) => void found.push(update),
  });
  for (let n = 1; n <= 3; n++) {
    near.add('app', [{ kind: 'api', n, node: 'a', atMs: 0, channel: 'newz', receivers: 0 }]);
    await nextTurn();
    timers.advance(200);
    await nextTurn();
  }
  expect(found).toEqual([
    { n: 2, near: 'news' },
    { n: 3, near: 'news' },
  ]);
  expect(answers).toEqual([]);
});
