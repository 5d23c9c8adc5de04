import { beforeEach, describe, expect, it } from 'bun:test';
import { deliveryLimits } from '../limits.ts';
import { MemoryBudget } from './memory-budget.ts';

const limits = {
  ...deliveryLimits,
  platformDevices: 100,
  sharedDevices: 300,
  instanceJobs: 10,
  pagesAhead: 2,
  jobsAtOnce: 2,
  pageDevices: 50,
};
const fcm = (count: number) => ({ apns: 0, fcm: count, web: 0 });
const apns = (count: number) => ({ apns: count, fcm: 0, web: 0 });

describe('what is held', () => {
  let room: MemoryBudget;
  beforeEach(() => {
    room = new MemoryBudget(limits);
  });

  it('is bounded for each platform of an instance, and leaves the others their room', () => {
    room.hold(1, fcm(100));
    expect(room.hasRoom(1, 'fcm')).toBe(false);
    expect(room.hasRoom(1, 'apns')).toBe(true);
    expect(room.hasRoom(2, 'fcm')).toBe(true);
    room.release(1, fcm(100));
    expect(room.hasRoom(1, 'fcm')).toBe(true);
  });

  it('is bounded in all, and an instance of which there is nothing has room nevertheless', () => {
    for (const instance of [1, 2, 3, 4]) room.hold(instance, fcm(75));
    expect(room.devices).toBe(300);
    expect(room.hasRoom(1, 'fcm')).toBe(false);
    expect(room.hasRoom(1, 'apns')).toBe(false);
    expect(room.hasRoom(5, 'fcm')).toBe(true);
    room.hold(5, fcm(75));
    expect(room.hasRoom(5, 'fcm')).toBe(false);
  });

  it('is bounded where publishes are large as well', () => {
    room.hold(1, fcm(1), 200 * 1024);
    expect(room.hasRoom(1, 'fcm')).toBe(false);
    expect(room.hasRoom(2, 'fcm')).toBe(true);
    room.release(1, fcm(1), 200 * 1024);
    room.hold(1, fcm(1), 200);
    expect(room.hasRoom(1, 'fcm')).toBe(true);
  });

  it('is bounded in jobs, however small they are', () => {
    for (let count = 0; count < 10; count++) room.hold(1, fcm(1));
    expect(room.hasRoom(1, 'fcm')).toBe(false);
    expect(room.jobs).toBe(10);
  });

  it('is enough of an instance where all that is held of it is full', () => {
    room.hold(1, fcm(100));
    expect(room.full()).toEqual([1]);
    room.hold(1, apns(1));
    expect(room.full()).toEqual([]);
    room.hold(1, apns(99));
    expect(room.full()).toEqual([1]);
  });

  it('takes what was claimed in one go, and no more', () => {
    room.hold(1, fcm(199));
    expect(room.isOverfull(1, 'fcm')).toBe(false);
    room.hold(1, fcm(1));
    expect(room.isOverfull(1, 'fcm')).toBe(true);
    expect(room.isOverfull(1, 'apns')).toBe(false);
  });

  it('is crowded where others need the room', () => {
    room.hold(1, fcm(100));
    expect(room.isCrowded(1, fcm(50))).toBe(true);
    expect(room.isCrowded(1, { apns: 1, fcm: 50, web: 0 })).toBe(false);
    room.hold(2, fcm(51));
    expect(room.isCrowded(3, fcm(1))).toBe(true);
  });

  it('counts pages that were left in the store, until they come back', () => {
    expect(room.mayStorePage(1)).toBe(true);
    room.storedPage(1);
    room.storedPage(1);
    expect(room.mayStorePage(1)).toBe(false);
    expect(room.mayStorePage(2)).toBe(true);
    room.claimedPage(1);
    expect(room.mayStorePage(1)).toBe(true);
    // More than was left comes back where another server has left it.
    for (let count = 0; count < 5; count++) room.claimedPage(1);
    room.storedPage(1);
    expect(room.mayStorePage(1)).toBe(true);
  });
});
