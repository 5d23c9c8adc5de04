import { beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime, settled } from '../../../testing/fake-time.ts';
import type { PipelineNotices } from './ports.ts';
import { StoreAccess } from './store-access.ts';

describe('access to the store', () => {
  let time: FakeTime;
  let reports: string[];
  let access: StoreAccess;
  beforeEach(() => {
    time = new FakeTime();
    reports = [];
    const notices: PipelineNotices = {
      storeFailed: (error) => reports.push(`failed: ${String(error)}`),
      gaveWay: () => undefined,
      circuitOpened: () => undefined,
      circuitClosed: () => undefined,
      refused: () => undefined,
      fault: () => undefined,
    };
    access = new StoreAccess(time, notices);
  });

  it('reports each failure', async () => {
    const error = new Error('away');
    const failing = () => Promise.reject(error);
    await expect(access.ask(failing)).rejects.toBe(error);
    expect(access.wasReported(error)).toBe(true);
    expect(access.wasReported(new Error('other'))).toBe(false);
    expect(await access.ask(async () => 1)).toBe(1);
    expect(reports).toEqual(['failed: Error: away']);
  });

  it('repeats a call each second until it succeeds', async () => {
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

  it('repeats less often after a minute, and at most `triesMax` times', async () => {
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

  it('ends pauses and repetitions when it gives up', async () => {
    const answer = access.insist(() => Promise.reject(new Error('away')));
    await settled();
    access.giveUp();
    expect(await answer).toBeUndefined();
    expect(await access.insist(() => Promise.reject(new Error('away')))).toBeUndefined();
    await access.pause(1_000_000);
  });
});
