import { afterEach, expect, it, jest } from 'bun:test';
import { Readiness } from '../../../transports/admin/readiness.ts';
import { LoopWatch } from './loop-watch.ts';

afterEach(() => {
  jest.useRealTimers();
});

async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

it('makes a server not ready while one of its realtime loops does not answer', async () => {
  jest.useFakeTimers();
  const readiness = new Readiness();
  readiness.setRealtime('listening');
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const silent = new Set<number>();
  const ask = async (_question: unknown, loop = 0) => {
    if (silent.has(loop)) throw new Error('no answer');
    return 'pong' as never;
  };
  using _watch = new LoopWatch({
    realtime: { count: 3, ask },
    readiness,
    log: { debug: log, info: log, warn: log, error: log },
  });
  await pass(1000);
  expect(readiness.reasons()).toEqual([]);

  silent.add(2);
  await pass(1000);
  await pass(1000);
  expect(readiness.reasons()).toEqual(['realtime-2: does not answer']);

  silent.clear();
  await pass(1000);
  expect(readiness.reasons()).toEqual([]);
  expect(logged).toEqual(['Realtime loop does not answer', 'Realtime loop answers again']);
});
