import { describe, expect, it } from 'bun:test';
import type { Job, PublishUnderWay } from '../../model/delivery.ts';
import type { PublishId } from '../../model/publish.ts';
import { InFlightJob } from '../jobs/in-flight-job.ts';
import { LATER_MS_MAX, PATIENCE_MS, SLOW_MS, TURN_MS_MAX } from '../limits.ts';
import { noGateways } from './no-gateway.ts';
import { PreparedPublish } from './prepared-publish.ts';
import { Route, Slice } from './route.ts';

const NOW_MS = 1_800_000_000_000;

function newRoute(): Route {
  return new Route({
    origin: undefined,
    isShared: false,
    rate: 1_000,
    nowMs: NOW_MS,
    random: () => 0,
    distrust: () => undefined,
  });
}

function newSlice(route: Route): Slice {
  const publish: PublishUnderWay = {
    number: 1,
    id: 'pubid-1' as PublishId,
    instance: 1,
    kind: 'interests',
    body: '',
    createdAtMs: NOW_MS,
    dueAtMs: NOW_MS,
  };
  const claim: Job = { what: 'page', page: 1, publish, devices: [], claimedUntilMs: 0 };
  const prepared = new PreparedPublish({
    publish,
    stored: undefined,
    instanceId: 'instance',
    gateway: noGateways.fcm,
    retryMs: 3_600_000,
  });
  return new Slice({
    job: new InFlightJob(claim, [], { nowMs: NOW_MS }),
    route,
    prepared,
    isTrusted: true,
    places: [0, 1],
    nowMs: NOW_MS,
  });
}

describe('a route', () => {
  it('does not hold up other routes once a device has waited too long, and for a while after', () => {
    const route = newRoute();
    const slice = newSlice(route);
    expect(slice.holdsUp(NOW_MS + TURN_MS_MAX, PATIENCE_MS)).toBe(false);
    expect(slice.holdsUp(NOW_MS + TURN_MS_MAX + 1, PATIENCE_MS)).toBe(true);
    slice.returnAfterMs(NOW_MS);
    expect(slice.holdsUp(NOW_MS, PATIENCE_MS)).toBe(true);
    expect(slice.holdsUp(NOW_MS + SLOW_MS - 1, PATIENCE_MS)).toBe(true);
    slice.take(NOW_MS + SLOW_MS);
    expect(slice.holdsUp(NOW_MS + SLOW_MS, PATIENCE_MS)).toBe(false);
  });

  it('lets devices return one after the other', () => {
    const route = newRoute();
    const afterMs = () => route.trusted.returnAfterMs(NOW_MS, route.circuit);
    expect([afterMs(), afterMs(), afterMs()]).toEqual([1_000, 1_100, 1_200]);
  });

  it('lets no device return later than after 15 minutes', () => {
    const route = newRoute();
    const afterMs = () => route.trusted.returnAfterMs(NOW_MS, route.circuit);
    expect(Math.max(...Array.from({ length: 100_000 }, afterMs))).toBe(LATER_MS_MAX);
  });
});

describe('an acceptance on a route', () => {
  it('is evidence about other devices, not about the same', () => {
    const route = newRoute();
    const accept = (device: number, atMs: number) =>
      route.learn(
        route.circuit.begin(true, atMs),
        { device, isTrusted: true },
        { result: 'accepted' },
        atMs,
      );
    accept(1, NOW_MS);
    expect(route.circuit.areOthersWell(1, NOW_MS)).toBe(false);
    expect(route.circuit.areOthersWell(2, NOW_MS)).toBe(true);
    accept(2, NOW_MS + 30_000);
    accept(2, NOW_MS + 40_000);
    expect(route.circuit.areOthersWell(2, NOW_MS + 59_999)).toBe(true);
    expect(route.circuit.areOthersWell(2, NOW_MS + 60_000)).toBe(false);
    expect(route.circuit.areOthersWell(1, NOW_MS + 60_000)).toBe(true);
  });
});
