import { expect, it } from 'bun:test';
import type { WebhookAttempt } from '../outbox.ts';
import { EndpointHealthBook } from './endpoint-health.ts';

const request = (endpoint: string, ownerId = 'shop') => ({
  kind: 'channels' as const,
  ownerId,
  url: `https://${endpoint}.example`,
  endpoint,
});

const attempt = (atMs: number, status: number): WebhookAttempt => ({
  number: 1,
  atMs,
  durationMs: 5,
  outcome: status === 200 ? 'delivered' : 'refused',
  status,
  answer: 'no',
});

it('an address is failing from its first failure in a row until one is delivered', () => {
  const book = new EndpointHealthBook();
  for (const [atMs, status] of [
    [1, 200],
    [2, 503],
    [3, 500],
  ] as const) {
    book.learn(request('a'), attempt(atMs, status));
  }
  expect([...book.all()]).toEqual([
    {
      ...request('a'),
      delivered: 1,
      failed: 2,
      lastAtMs: 3,
      lastOutcome: 'refused',
      lastStatus: 500,
      lastAnswer: 'no',
      lastDeliveredAtMs: 1,
      failingSinceMs: 2,
      durations: [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    },
  ]);
  book.learn(request('a'), attempt(4, 200));
  expect([...book.all()]).toMatchObject([{ lastDeliveredAtMs: 4, failingSinceMs: undefined }]);
});

it('an owner with many addresses makes others forget nothing', () => {
  const book = new EndpointHealthBook();
  book.learn(request('a'), attempt(0, 200));
  for (let n = 0; n < 200; n++) book.learn(request(`x${n}`, 'other'), attempt(n, 503));
  const all = [...book.all()];
  expect(all.filter(({ ownerId }) => ownerId === 'shop')).toHaveLength(1);
  const others = all.filter(({ ownerId }) => ownerId === 'other');
  expect(others).toHaveLength(50);
  expect(others.at(-1)).toMatchObject({ endpoint: 'x199' });
});

it('what has not been tried for long is forgotten', () => {
  const book = new EndpointHealthBook();
  book.learn(request('a'), attempt(1, 200));
  book.learn(request('b'), attempt(2, 200));
  book.forget(2);
  expect([...book.all()].map(({ endpoint }) => endpoint)).toEqual(['b']);
});

it('attempts are counted by how long they took', () => {
  const book = new EndpointHealthBook();
  for (const durationMs of [10, 11, 249, 250, 10_000, 10_001, 30_000]) {
    book.learn(request('a'), { ...attempt(1, 200), durationMs });
  }
  expect([...book.all()][0]?.durations).toEqual([1, 1, 0, 0, 2, 0, 0, 0, 0, 1, 2]);
});
