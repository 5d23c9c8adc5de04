import { describe, expect, it } from 'bun:test';
import type { Job, PublishUnderWay } from '../model/delivery.ts';
import type { PublishId } from '../model/publish.ts';
import { LATER_MS_MAX, SLOW_MS, TURN_MS_MAX } from './limits.ts';
import { noGateways } from './no-gateway.ts';
import { Prepared } from './prepared.ts';
import { Part, Way } from './way.ts';
import { Work } from './work.ts';

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

function newWay(): Way {
  return new Way({
    origin: undefined,
    isShared: false,
    rate: { perSecond: 1_000 },
    nowMs: NOW_MS,
    random: () => 0,
    doubt: () => undefined,
  });
}

function newPart(way: Way): Part {
  const publish: PublishUnderWay = {
    number: 1,
    id: 'pubid-1' as PublishId,
    instance: 1,
    kind: 'interests',
    body: '',
    createdAtMs: NOW_MS,
    dueAtMs: NOW_MS,
  };
  const job: Job = { what: 'page', page: 1, publish, devices: [], claimedUntilMs: 0 };
  const prepared = new Prepared(publish, undefined, 'instance', noGateways.fcm);
  return new Part({
    work: new Work(job, [], { nowMs: NOW_MS }),
    way,
    prepared,
    areNewcomers: false,
    places: [0, 1],
    tried: [],
    nowMs: NOW_MS,
    left: () => undefined,
  });
}

describe('a way', () => {
  it('holds up others when a device has waited too long for its turn, and for a while after that', () => {
    const way = newWay();
    const part = newPart(way);
    expect(part.holdsUp(NOW_MS + TURN_MS_MAX)).toBe(false);
    expect(part.holdsUp(NOW_MS + TURN_MS_MAX + 1)).toBe(true);
    part.returnMs(NOW_MS);
    expect(part.holdsUp(NOW_MS)).toBe(true);
    expect(part.holdsUp(NOW_MS + SLOW_MS - 1)).toBe(true);
    part.take(NOW_MS + SLOW_MS);
    expect(part.holdsUp(NOW_MS + SLOW_MS)).toBe(false);
  });

  it('lets devices come back one after the other', () => {
    const way = newWay();
    const times = Array.from({ length: 3 }, () => way.known.returnMs(NOW_MS, way.breaker) - NOW_MS);
    expect(times).toEqual([1_000, 1_100, 1_200]);
  });
});

describe('what a way has accepted', () => {
  it('says something of others, and nothing of the device itself', () => {
    const way = newWay();
    const accept = (device: number, atMs: number) =>
      way.learn(
        way.breaker.begin(true, atMs),
        { device, isWitness: true },
        { result: 'accepted' },
        atMs,
      );
    accept(1, NOW_MS);
    expect(way.breaker.areOthersWell(1, NOW_MS)).toBe(false);
    expect(way.breaker.areOthersWell(2, NOW_MS)).toBe(true);
    accept(2, NOW_MS + 30_000);
    accept(2, NOW_MS + 40_000);
    expect(way.breaker.areOthersWell(2, NOW_MS + 59_999)).toBe(true);
    expect(way.breaker.areOthersWell(2, NOW_MS + 60_000)).toBe(false);
    expect(way.breaker.areOthersWell(1, NOW_MS + 60_000)).toBe(true);
  });
});

describe('a way by a clock that was set back', () => {
  const backMs = NOW_MS - HOUR_MS;

  it('counts from then on how long a device waits for its turn', () => {
    const part = newPart(newWay());
    expect(part.holdsUp(backMs)).toBe(false);
    expect(part.holdsUp(backMs + TURN_MS_MAX + 1)).toBe(true);
  });

  it('is not slow for as much longer', () => {
    const way = newWay();
    const part = newPart(way);
    part.returnMs(NOW_MS);
    expect(part.holdsUp(backMs)).toBe(false);
  });

  it('does not let devices come back after those of before', () => {
    const way = newWay();
    for (let count = 0; count < 100_000; count++) way.known.returnMs(NOW_MS, way.breaker);
    expect(way.known.returnMs(backMs, way.breaker) - backMs).toBe(1_000);
    expect(way.known.returnMs(backMs, way.breaker) - backMs).toBeLessThan(LATER_MS_MAX);
  });

  it('does not take what was accepted by it for accepted lately', () => {
    const way = newWay();
    const sent = { device: 1, isWitness: true };
    way.learn(way.breaker.begin(true, NOW_MS), sent, { result: 'accepted' }, NOW_MS);
    expect(way.breaker.areOthersWell(2, NOW_MS)).toBe(true);
    expect(way.breaker.areOthersWell(2, backMs)).toBe(false);
  });
});
