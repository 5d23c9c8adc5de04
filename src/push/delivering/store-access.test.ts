import { beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime, settled } from '../../../testing/fake-time.ts';
import type { PipelineNotices } from './ports.ts';
import { StoreAccess } from './store-access.ts';

describe('access to the store', () => {
  let time: FakeTime;
  let told: string[];
  let access: StoreAccess;
  beforeEach(() => {
    time = new FakeTime();
    told = [];
    const notices: PipelineNotices = {
      storeFailed: (error) => told.push(`failed: ${String(error)}`),
      storeWorked: () => told.push('worked'),
      circuitOpened: () => undefined,
      circuitClosed: () => undefined,
      refused: () => undefined,
      fault: () => undefined,
    };
    access = new StoreAccess(time, notices);
  });

  it('tells that it fails, and once that it works again', async () => {
    const error = new Error('away');
    const failing = () => Promise.reject(error);
    await expect(access.ask(failing)).rejects.toBe(error);
    expect(access.wasReported(error)).toBe(true);
    expect(access.wasReported(new Error('other'))).toBe(false);
    expect(await access.ask(async () => 1)).toBe(1);
    expect(await access.ask(async () => 2)).toBe(2);
    expect(told).toEqual(['failed: Error: away', 'worked']);
  });

  it('insists each second until there is an answer', async () => {
    let tries = 0;
    const answer = access.insist(async () => {
      tries += 1;
      if (tries < 4) throw new Error('away');
      return 'at last';
    });
    await time.advance(2_999);
    expect(tries).toBe(3);
    await time.advance(1);
    expect(await answer).toBe('at last');
  });

  it('asks seldom what fails for more than a minute, or no more than so many times', async () => {
    let tries = 0;
    const failing = async () => {
      tries += 1;
      throw new Error('never');
    };
    void access.insist(failing);
    await time.advance(360_000);
    expect(tries).toBe(61 + 10);
    tries = 0;
    const answer = access.insist(failing, 3);
    await time.advance(2_000);
    expect(await answer).toBeUndefined();
    expect(tries).toBe(3);
  });

  it('gives up when it is told to, also what waits', async () => {
    const answer = access.insist(() => Promise.reject(new Error('away')));
    await settled();
    access.giveUp();
    expect(await answer).toBeUndefined();
    expect(await access.insist(() => Promise.reject(new Error('away')))).toBeUndefined();
    await access.pause(1_000_000);
  });
});
