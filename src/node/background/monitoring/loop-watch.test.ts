import { expect, it } from 'bun:test';
import { FakeTime } from '../../../../testing/fake-time.ts';
import { Readiness } from '../../../transports/admin/readiness.ts';
import { LoopWatch } from './loop-watch.ts';

it('makes a server not ready while one of its realtime loops does not answer', async () => {
  const time = new FakeTime();
  const readiness = new Readiness();
  readiness.setRealtime('listening');
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const silent = new Set<number>();
  const ask = async (_what: string, _query: object, loop = 0) => {
    if (silent.has(loop)) throw new Error('no answer');
    return 'pong' as never;
  };
  using _watch = new LoopWatch({
    realtime: { count: 3, ask },
    readiness,
    timers: time,
    log: { debug: log, info: log, warn: log, error: log },
  });
  await time.advance(1000);
  expect(readiness.reasons()).toEqual([]);

  silent.add(2);
  await time.advance(1000);
  await time.advance(1000);
  expect(readiness.reasons()).toEqual(['realtime-2: does not answer']);

  silent.clear();
  await time.advance(1000);
  expect(readiness.reasons()).toEqual([]);
  expect(logged).toEqual(['Realtime loop does not answer', 'Realtime loop answers again']);
});
