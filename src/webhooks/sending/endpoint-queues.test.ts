import { describe, expect, it } from 'bun:test';
import {
  ENDPOINT_BYTES_MAX,
  ENDPOINT_ROWS_MAX,
  inFlightMax,
  WAITING_BYTES_MAX,
  WAITING_ROWS_MAX,
} from '../limits.ts';
import type { OutboxKind, OutboxRequest } from '../outbox.ts';
import { endpointOf } from './endpoint.ts';
import { EndpointQueues } from './endpoint-queues.ts';

const request = (endpoint: string, bodyBytes = 1): OutboxRequest => ({
  id: 'id',
  kind: 'channels',
  ownerId: 'app',
  url: 'http://a/',
  endpoint,
  events: '',
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

describe('the limits of waiting requests', () => {
  it('hold for the rows of one endpoint, and leave other owners as much as is used', () => {
    const queues = new EndpointQueues();
    const admit = (owner: string, address: string) =>
      queues.admit(request(endpointOf('channels', owner, address)));
    for (let row = 0; row < ENDPOINT_ROWS_MAX; row++) admit('greedy', 'a');
    expect(admit('greedy', 'a')).toBe('endpoint');
    for (let row = 0; admit('greedy', `${row % 10}`) === 'admitted'; row++);
    expect(queues.rows).toBe(WAITING_ROWS_MAX / 2);
    for (let row = 0; admit('second', `${row % 10}`) === 'admitted'; row++);
    expect(queues.rows).toBe((WAITING_ROWS_MAX * 3) / 4);
    expect(admit('greedy', 'b')).toBe('outbox');
    expect(admit('honest', 'b')).toBe('admitted');
  });

  it('hold for the bytes of one endpoint and of one owner, all kinds together', () => {
    const queues = new EndpointQueues();
    const admit = (kind: OutboxKind, owner: string, address: string, bytes: number) =>
      queues.admit(request(endpointOf(kind, owner, address), bytes));
    expect(admit('push', 'greedy', 'a', ENDPOINT_BYTES_MAX)).toBe('admitted');
    expect(admit('push', 'greedy', 'a', 1)).toBe('endpoint');
    expect(admit('publish', 'greedy', 'b', ENDPOINT_BYTES_MAX)).toBe('admitted');
    expect(queues.bytes).toBe(WAITING_BYTES_MAX / 2);
    expect(admit('push', 'greedy', 'c', 1)).toBe('outbox');
    expect(admit('push', 'honest', 'c', ENDPOINT_BYTES_MAX)).toBe('admitted');
  });

  it('free room once requests are over', () => {
    const queues = new EndpointQueues();
    const endpoint = (n: number) => endpointOf('channels', 'greedy', `${n}`);
    for (let n = 0; queues.admit(request(endpoint(n % 10))) === 'admitted'; n++);
    queues.settled({
      request: claimed(endpoint(0)),
      attempt: undefined,
      next: { state: 'failed', atMs: 1, reason: '' },
    });
    expect(queues.admit(request(endpoint(0)))).toBe('admitted');
    expect(queues.admit(request(endpoint(0)))).toBe('outbox');
    queues.refresh([]);
    expect(queues.admit(request(endpoint(0)))).toBe('admitted');
  });

  it('forget no due request if another server wrote those that were sent', () => {
    const queues = new EndpointQueues();
    queues.admit(request('a'));
    queues.dueFrom('a', 5);
    // The claim found the other server's request; this one's own is still due.
    queues.addClaimed({ endpoint: 'a', requests: [claimed('a')], dueAtMs: 5 });
    const sent = queues.next();
    if (sent === undefined) throw new Error('nothing to send');
    queues.done('a', false);
    const next = { state: 'delivered', atMs: 6, reason: '' } as const;
    queues.settled({ request: sent, attempt: undefined, next });
    expect(queues.wanted(6).map(({ endpoint }) => endpoint)).toEqual(['a']);
    queues.addClaimed({ endpoint: 'a', requests: [], dueAtMs: undefined });
    expect(queues.wanted(6)).toEqual([]);
  });

  it('forget no request that became due while a claim was under way', () => {
    const queues = new EndpointQueues();
    const first = request(endpointOf('channels', 'app', 'a'));
    queues.admit(first);
    queues.dueFrom(first.endpoint, 1);
    expect(queues.wanted(10)).toHaveLength(1);
    // On PostgreSQL the claim may have read the store before this was written.
    queues.addReplayed(request(first.endpoint), 5);
    queues.addClaimed({ endpoint: first.endpoint, requests: [], dueAtMs: undefined });
    expect(queues.nextDueAtMs()).toBe(5);
    expect(queues.wanted(10)).toHaveLength(1);
    queues.addClaimed({ endpoint: first.endpoint, requests: [], dueAtMs: undefined });
    expect(queues.nextDueAtMs()).toBe(Number.POSITIVE_INFINITY);
  });

  it('are counted anew from the store', () => {
    const queues = new EndpointQueues();
    queues.admit(request('gone', 5));
    queues.refresh([{ endpoint: 'a', rows: 3, bytes: 30, oldestAtMs: 7, dueAtMs: 8 }]);
    expect(queues).toMatchObject({ rows: 3, bytes: 30 });
    expect(queues.oldestAtMs()).toBe(7);
    expect(queues.nextDueAtMs()).toBe(8);
    expect(queues.wanted(7)).toEqual([]);
    expect(queues.wanted(8).map(({ endpoint }) => endpoint)).toEqual(['a']);
  });
});

describe('turns', () => {
  it('rotate among endpoints', () => {
    const queues = new EndpointQueues();
    for (const endpoint of ['a', 'b', 'c']) {
      queues.addClaimed({
        endpoint,
        requests: [1, 2, 3, 4].map(() => claimed(endpoint)),
        dueAtMs: 0,
      });
    }
    const order = Array.from({ length: 9 }, () => queues.next()?.endpoint);
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('end at the limit of requests in flight, without a time to wake up', () => {
    const queues = new EndpointQueues();
    for (let index = 0; index < inFlightMax.channels.all + 10; index++) {
      queues.addClaimed({ endpoint: `${index}`, requests: [claimed(`${index}`)], dueAtMs: 0 });
    }
    while (queues.next() !== undefined) {
      // Sends whatever may be sent.
    }
    expect(queues.inFlight).toBe(inFlightMax.channels.all);
    expect(queues.wanted(1)).toEqual([]);
    expect(queues.nextDueAtMs()).toBe(Number.POSITIVE_INFINITY);
    queues.done('0', false);
    expect(queues.next()).toBeDefined();
  });
});

describe('kinds', () => {
  const queuesWith = (endpoints: readonly string[], each = 1) => {
    const queues = new EndpointQueues();
    for (const endpoint of endpoints) {
      const requests = Array.from({ length: each }, () => claimed(endpoint));
      queues.addClaimed({ endpoint, requests, dueAtMs: Number.POSITIVE_INFINITY });
    }
    return queues;
  };
  const sendAll = (queues: EndpointQueues) => {
    const sent: string[] = [];
    for (let next = queues.next(); next !== undefined; next = queues.next())
      sent.push(next.endpoint);
    return sent;
  };
  const of = (kind: 'channels' | 'push', count: number, owner?: string) =>
    Array.from({ length: count }, (_, n) => endpointOf(kind, owner ?? `owner-${n}`, `${n}`));

  it('each have their own limit of requests in flight', () => {
    const queues = queuesWith([...of('channels', 200), ...of('push', 200)]);
    expect(sendAll(queues)).toHaveLength(inFlightMax.channels.all + inFlightMax.push.all);
    expect(queues.inFlight).toBe(inFlightMax.channels.all + inFlightMax.push.all);
    queues.dueFrom(endpointOf('publish', 'owner', 'a'), 5);
    expect(queues.nextDueAtMs()).toBe(5);
    expect(queues.wanted(5)).toHaveLength(1);
    queues.done(of('push', 1)[0] ?? '', false);
    expect(sendAll(queues)).toHaveLength(1);
  });

  it('each leave other owners as many requests in flight as one has, for any number of endpoints', () => {
    const queues = queuesWith(of('channels', 200, 'greedy'));
    const sent = sendAll(queues);
    expect(sent).toHaveLength(inFlightMax.channels.all / 2);
    const honest = of('channels', 5, 'honest');
    for (const endpoint of honest) {
      queues.addClaimed({ endpoint, requests: [claimed(endpoint)], dueAtMs: 0 });
    }
    expect(sendAll(queues)).toEqual(honest);
    for (const endpoint of [...honest, ...sent]) queues.done(endpoint, false);
    expect(sendAll(queues)).toHaveLength(inFlightMax.channels.all / 2);
  });

  it('of push give one endpoint more at a time, until many are in flight', () => {
    const [first = '', ...others] = of('push', 40);
    const queues = queuesWith([first], 50);
    expect(sendAll(queues)).toHaveLength(inFlightMax.push.endpoint);
    for (const endpoint of others) {
      queues.addClaimed({
        endpoint,
        requests: [claimed(endpoint), claimed(endpoint)],
        dueAtMs: Number.POSITIVE_INFINITY,
      });
    }
    expect(new Set(sendAll(queues)).size).toBe(inFlightMax.push.all - inFlightMax.push.endpoint);
  });

  it('of publishes limit an owner over all its addresses, and free what is done', () => {
    const ours = Array.from({ length: 20 }, (_, n) => endpointOf('publish', 'us', `${n}`));
    const queues = queuesWith(ours);
    const sent = sendAll(queues);
    expect(sent).toHaveLength(inFlightMax.publish.share);
    const theirs = endpointOf('publish', 'them', '0');
    queues.addClaimed({ endpoint: theirs, requests: [claimed(theirs)], dueAtMs: 0 });
    expect(sendAll(queues)).toEqual([theirs]);
    for (const endpoint of sent) queues.done(endpoint, true);
    expect(sendAll(queues)).toHaveLength(inFlightMax.publish.share);
  });

  it('of publishes limit the waiting requests of an owner like one endpoint', () => {
    const queues = new EndpointQueues();
    const endpoint = (n: number, owner = 'us') => endpointOf('publish', owner, `${n}`);
    for (let row = 0; row < ENDPOINT_ROWS_MAX; row++) queues.admit(request(endpoint(row % 100)));
    expect(queues.admit(request(endpoint(100)))).toBe('endpoint');
    expect(queues.admit(request(endpoint(0, 'them')))).toBe('admitted');
    queues.refresh([{ endpoint: endpoint(0), rows: 1, bytes: 1, oldestAtMs: 1, dueAtMs: 1 }]);
    expect(queues.admit(request(endpoint(100)))).toBe('admitted');
  });
});
