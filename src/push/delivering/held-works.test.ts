import { beforeEach, describe, expect, it } from 'bun:test';
import type { Job, PublishUnderWay } from '../delivery.ts';
import type { DeviceId, Recipient } from '../device.ts';
import type { PublishId } from '../publish.ts';
import { HeldWorks } from './held-works.ts';
import { deliveryLimits } from './limits.ts';
import { Work } from './work.ts';

const publish: PublishUnderWay = {
  number: 1,
  id: 'pubid-1' as PublishId,
  instance: 1,
  kind: 'interests',
  body: '{}',
  createdAtMs: 0,
  dueAtMs: 0,
};

function page(number: number, devices: readonly number[]): Job {
  return { what: 'page', page: number, job: { publish, devices, leasedUntilMs: 1 } };
}

function retries(devices: readonly number[]): Job {
  return {
    what: 'retries',
    platform: 'fcm',
    retries: devices.map((device) => ({ device, attempts: 1 })),
    job: { publish, devices, leasedUntilMs: 1 },
  };
}

function workOf(job: Job): Work {
  const recipients = job.job.devices.map(
    (number): Recipient => ({
      number,
      id: `fcm-${number}` as DeviceId,
      platform: 'fcm',
      token: '',
      bundleId: undefined,
      userId: undefined,
      registeredAtMs: 0,
    }),
  );
  return new Work(job, recipients, 0);
}

describe('the jobs that are held', () => {
  let held: HeldWorks;
  beforeEach(() => {
    held = new HeldWorks(deliveryLimits);
  });

  it('are held once each, though their claims may have ended and been had again', () => {
    expect(held.claim(page(1, [1, 2]))).toBe(true);
    expect(held.claim(page(1, [1, 2]))).toBe(false);
    expect(held.claim(page(2, [3]))).toBe(true);
    held.unclaim(page(1, [1, 2]));
    expect(held.claim(page(1, [1, 2]))).toBe(true);
  });

  it('are held once for each device that is tried again, also where they overlap', () => {
    expect(held.claim(retries([1, 2]))).toBe(true);
    expect(held.claim(retries([2, 3]))).toBe(false);
    expect(held.claim(retries([3]))).toBe(true);
    held.unclaim(retries([1, 2]));
    expect(held.claim(retries([2]))).toBe(true);
    expect(held.claim(retries([3]))).toBe(false);
  });

  it('count until they are dropped', () => {
    const work = workOf(page(1, [1, 2, 3]));
    held.claim(work.job);
    held.add(work);
    expect([held.room.devices, held.room.jobs, held.isEmpty]).toEqual([3, 1, false]);
    held.drop(work);
    expect([held.room.devices, held.room.jobs, held.isEmpty]).toEqual([0, 0, true]);
    expect(held.claim(work.job)).toBe(true);
  });
});
