import { beforeEach, describe, expect, it } from 'bun:test';
import type { Job, PublishUnderWay } from '../../model/delivery.ts';
import type { DeviceId, Recipient } from '../../model/device.ts';
import type { PublishId } from '../../model/publish.ts';
import { deliveryLimits } from '../limits.ts';
import { InFlightJob } from './in-flight-job.ts';
import { JobsInFlight } from './jobs-in-flight.ts';

const publish: PublishUnderWay = {
  number: 1,
  id: 'pubid-1' as PublishId,
  instance: 1,
  kind: 'interests',
  body: '{}',
  createdAtMs: 0,
  dueAtMs: 0,
};

function page(number: number, devices: readonly number[], claimedUntilMs = 1): Job {
  return { what: 'page', page: number, publish, devices, claimedUntilMs };
}

function retries(devices: readonly number[], claimedUntilMs = 1): Job {
  return {
    what: 'retries',
    platform: 'fcm',
    retries: devices.map((device) => ({ device, attempts: 1 })),
    publish,
    devices,
    claimedUntilMs,
  };
}

function jobOf(claim: Job): InFlightJob {
  const recipients = claim.devices.map(
    (number): Recipient => ({
      number,
      id: `fcm-${number}` as DeviceId,
      platform: 'fcm',
      token: '',
      bundleId: undefined,
      userId: undefined,
      seenAtMs: 0,
      isTrusted: true,
    }),
  );
  return new InFlightJob(claim, recipients, { nowMs: 0 });
}

describe('jobs in flight', () => {
  let held: JobsInFlight;
  beforeEach(() => {
    held = new JobsInFlight(deliveryLimits);
  });

  function hold(claim: Job): InFlightJob {
    const job = jobOf(claim);
    held.claim(claim);
    held.add(job);
    return job;
  }

  it('are held once, even if they are claimed again', () => {
    expect(held.claim(page(1, [1, 2]))).toEqual(page(1, [1, 2]));
    expect(held.claim(page(1, [1, 2]))).toBeUndefined();
    expect(held.claim(page(2, [3]))).toEqual(page(2, [3]));
    held.unclaim(page(1, [1, 2]));
    expect(held.claim(page(1, [1, 2]))).toEqual(page(1, [1, 2]));
  });

  it('hold each retried device once, even if claims overlap', () => {
    expect(held.claim(retries([1, 2]))).toEqual(retries([1, 2]));
    expect(held.claim(retries([2, 3]))).toEqual(retries([3]));
    expect(held.claim(retries([2, 3]))).toBeUndefined();
    held.unclaim(retries([1, 2]));
    expect(held.claim(retries([2]))).toEqual(retries([2]));
    expect(held.claim(retries([3]))).toBeUndefined();
    expect(held.claim(retries([1]))).toEqual(retries([1]));
  });

  it('continue under a later claim of the same page', () => {
    const first = hold(page(1, [1, 2]));
    const second = hold(page(2, [3]));
    held.claim(page(1, [1, 2], 90));
    expect([first.claimedUntilMs, second.claimedUntilMs]).toEqual([90, 1]);
  });

  it('of retries continue under a later claim only if it has all of their devices', () => {
    const first = hold(retries([1, 2]));
    const second = hold(retries([3, 4]));
    const other = hold(page(1, [1]));
    held.claim(retries([1, 2, 3], 90));
    expect([first, second, other].map(({ claimedUntilMs }) => claimedUntilMs)).toEqual([90, 1, 1]);
  });

  it('use memory until they are dropped', () => {
    const job = hold(page(1, [1, 2, 3]));
    expect([held.budget.devices, held.budget.jobs, held.isEmpty]).toEqual([3, 1, false]);
    held.drop(job);
    expect([held.budget.devices, held.budget.jobs, held.isEmpty]).toEqual([0, 0, true]);
    expect(held.claim(job.claim)).toBe(job.claim);
  });
});
