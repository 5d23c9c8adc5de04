import { expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import type { LogFields } from '../runtime/ports.ts';
import { SlowStart } from './slow-start.ts';

it('logs every five seconds which part the start waits for, until it ends', async () => {
  const time = new FakeTime();
  const lines: (LogFields | undefined)[] = [];
  const start = new SlowStart({ warn: (_, fields) => lines.push(fields) }, time);

  start.waitsFor('the first part');
  await time.advance(4999);
  expect(lines).toEqual([]);
  await time.advance(6000);
  start.waitsFor('the second part');
  await time.advance(5000);
  start[Symbol.dispose]();
  await time.advance(60_000);

  expect(lines).toEqual([
    { waitsFor: 'the first part', seconds: 5 },
    { waitsFor: 'the first part', seconds: 10 },
    { waitsFor: 'the second part', seconds: 15 },
  ]);
});
