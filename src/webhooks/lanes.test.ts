import { describe, expect, it } from 'bun:test';
import type { OutboxRequest } from '../channels/outbox.ts';
import { Lanes } from './lanes.ts';
import {
  ENDPOINT_BYTES_MAX,
  ENDPOINT_ROWS_MAX,
  IN_FLIGHT_MAX,
  WAITING_BYTES_MAX,
  WAITING_ROWS_MAX,
} from './limits.ts';

const request = (endpoint: string, bodyBytes = 1): OutboxRequest => ({
  id: 'id',
  kind: 'channels',
  ownerId: 'app',
  url: 'http://a/',
  endpoint,
  bodyBytes,
  createdAtMs: 1,
});
const claimed = (endpoint: string) => ({
  ...request(endpoint),
  attempts: 0,
  tries: 0,
  firstTryAtMs: undefined,
  claimedUntilMs: 9,
});

describe('the bounds of what waits', () => {
  it('hold for the rows of one endpoint and of all', () => {
    const lanes = new Lanes();
    for (let endpoint = 0; endpoint < WAITING_ROWS_MAX / ENDPOINT_ROWS_MAX; endpoint++) {
      for (let row = 0; row < ENDPOINT_ROWS_MAX; row++) lanes.admit(request(`${endpoint}`));
      if (endpoint === 0) expect(lanes.admit(request('0'))).toBe('endpoint');
    }
    expect(lanes.rows).toBe(WAITING_ROWS_MAX);
    expect(lanes.admit(request('another'))).toBe('outbox');
    lanes.settled({
      request: request('0'),
      attempt: undefined,
      next: { state: 'failed', atMs: 1, reason: '' },
    });
    expect(lanes.admit(request('another'))).toBe('admitted');
  });

  it('hold for the bytes of one endpoint and of all', () => {
    const lanes = new Lanes();
    for (let endpoint = 0; endpoint < WAITING_BYTES_MAX / ENDPOINT_BYTES_MAX; endpoint++) {
      expect(lanes.admit(request(`${endpoint}`, ENDPOINT_BYTES_MAX))).toBe('admitted');
      if (endpoint === 0) expect(lanes.admit(request('0'))).toBe('endpoint');
    }
    expect(lanes.admit(request('another'))).toBe('outbox');
  });

  it('follow what the store says', () => {
    const lanes = new Lanes();
    lanes.admit(request('gone', 5));
    lanes.refresh([{ endpoint: 'a', rows: 3, bytes: 30, oldestAtMs: 7, dueAtMs: 8 }]);
    expect(lanes).toMatchObject({ rows: 3, bytes: 30 });
    expect(lanes.oldestAtMs()).toBe(7);
    expect(lanes.nextDueAtMs()).toBe(8);
    expect(lanes.hungry(7)).toEqual([]);
    expect(lanes.hungry(8).map(({ endpoint }) => endpoint)).toEqual(['a']);
  });
});

describe('turns', () => {
  it('go round, and each endpoint keeps its place', () => {
    const lanes = new Lanes();
    for (const endpoint of ['a', 'b', 'c']) {
      lanes.feed({ endpoint, requests: [1, 2, 3, 4].map(() => claimed(endpoint)), dueAtMs: 0 });
    }
    const order = Array.from({ length: 9 }, () => lanes.next()?.endpoint);
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('end where all that may be under way is, without anything to wake up for', () => {
    const lanes = new Lanes();
    for (let index = 0; index < IN_FLIGHT_MAX + 10; index++) {
      lanes.feed({ endpoint: `${index}`, requests: [claimed(`${index}`)], dueAtMs: 0 });
    }
    while (lanes.next() !== undefined) {
      // Sends whatever may be sent.
    }
    expect(lanes.inFlight).toBe(IN_FLIGHT_MAX);
    expect(lanes.hungry(1)).toEqual([]);
    expect(lanes.nextDueAtMs()).toBe(Number.POSITIVE_INFINITY);
    lanes.done('0', false);
    expect(lanes.next()).toBeDefined();
  });
});
