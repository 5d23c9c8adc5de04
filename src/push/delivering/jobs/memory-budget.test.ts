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

describe('the memory budget', () => {
  let room: MemoryBudget;
  beforeEach(() => {
    room = new MemoryBudget(limits);
  });

  it('limits each platform of an instance, and leaves room for the others', () => {
    room.hold(1, fcm(100));
    expect(room.hasRoom(1, 'fcm')).toBe(false);
    expect(room.hasRoom(1, 'apns')).toBe(true);
    expect(room.hasRoom(2, 'fcm')).toBe(true);
    room.release(1, fcm(100));
    expect(room.hasRoom(1, 'fcm')).toBe(true);
  });

  it('limits all instances together, but an instance without jobs always has room', () => {
    for (const instance of [1, 2, 3, 4]) room.hold(instance, fcm(75));
    expect(room.devices).toBe(300);
    expect(room.hasRoom(1, 'fcm')).toBe(false);
    expect(room.hasRoom(1, 'apns')).toBe(false);
    expect(room.hasRoom(5, 'fcm')).toBe(true);
    room.hold(5, fcm(75));
    expect(room.hasRoom(5, 'fcm')).toBe(false);
  });

  it('counts large publish bodies', () => {
    room.hold(1, fcm(1), 200 * 1024);
    expect(room.hasRoom(1, 'fcm')).toBe(false);
    expect(room.hasRoom(2, 'fcm')).toBe(true);
    room.release(1, fcm(1), 200 * 1024);
    room.hold(1, fcm(1), 200);
    expect(room.hasRoom(1, 'fcm')).toBe(true);
  });

  it('limits the number of jobs, however small they are', () => {
    for (let count = 0; count < 10; count++) room.hold(1, fcm(1));
    expect(room.hasRoom(1, 'fcm')).toBe(false);
    expect(room.jobs).toBe(10);
  });

  it('is full for an instance when all platforms with devices are full', () => {
    room.hold(1, fcm(100));
    expect(room.full()).toEqual([1]);
    room.hold(1, apns(1));
    expect(room.full()).toEqual([]);
    room.hold(1, apns(99));
    expect(room.full()).toEqual([1]);
  });

  it('allows one claim beyond the limit, and no more', () => {
    room.hold(1, fcm(199));
    expect(room.isOverfull(1, 'fcm')).toBe(false);
    room.hold(1, fcm(1));
    expect(room.isOverfull(1, 'fcm')).toBe(true);
    expect(room.isOverfull(1, 'apns')).toBe(false);
  });

  it('is crowded when others need the room', () => {
    room.hold(1, fcm(100));
    expect(room.isCrowded(1, fcm(50))).toBe(true);
    expect(room.isCrowded(1, { apns: 1, fcm: 50, web: 0 })).toBe(false);
    room.hold(2, fcm(51));
    expect(room.isCrowded(3, fcm(1))).toBe(true);
  });

  it('counts pages in the store until they are claimed', () => {
    expect(room.mayStorePage(1)).toBe(true);
    room.storedPage(1);
    room.storedPage(1);
    expect(room.mayStorePage(1)).toBe(false);
    expect(room.mayStorePage(2)).toBe(true);
    room.claimedPage(1);
    expect(room.mayStorePage(1)).toBe(true);
    // Pages that another server stored may be claimed here, too.
    for (let count = 0; count < 5; count++) room.claimedPage(1);
    room.storedPage(1);
    expect(room.mayStorePage(1)).toBe(true);
  });
});
