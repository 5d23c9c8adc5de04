import { expect, it } from 'bun:test';
import { requestId } from './request-id.ts';

const INSTANCE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';
const OTHER = '0d1f8b7e-6a52-4c1e-9b5f-3f0c6a7d2e41';
const AT_MS = Date.UTC(2026, 0, 1);

it('is the same for the same event only', () => {
  const id = requestId(AT_MS, INSTANCE, ['publish', 'a']);
  expect(requestId(AT_MS, INSTANCE, ['publish', 'a'])).toBe(id);
  const others = [
    requestId(AT_MS + 1, INSTANCE, ['publish', 'a']),
    requestId(AT_MS, OTHER, ['publish', 'a']),
    requestId(AT_MS, INSTANCE, ['publish', 'b']),
    requestId(AT_MS, INSTANCE, ['publish', 'a', '']),
  ];
  expect(new Set([id, ...others]).size).toBe(5);
});

it('is a UUID that sorts by time, like version 7', () => {
  const ids = [0, 1, AT_MS - 1, AT_MS, AT_MS + 1].map((ms) => requestId(ms, INSTANCE, ['a']));
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  expect(ids.toSorted()).toEqual(ids);
  // The runtime writes the time in its ids in the same way.
  expect(requestId(AT_MS, INSTANCE, ['a']).slice(0, 15)).toBe(
    `${Bun.randomUUIDv7('hex', AT_MS).slice(0, 14)}7`,
  );
});
