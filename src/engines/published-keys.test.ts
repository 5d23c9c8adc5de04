import { afterEach, expect, it, setSystemTime } from 'bun:test';
import type { EventId } from '../channels/history/event-id.ts';
import { channelName, FakeClock } from '../channels/hub.fixture.ts';
import { monotonicTimers } from '../runtime/system-timers.ts';
import { PUBLISHED_KEY_MS, PublishedKeys } from './published-keys.ts';

const [news, other] = [channelName('news').text, channelName('other').text];
const id = '1-abcdefgh' as EventId;

afterEach(() => void setSystemTime());

it('finds an event by app, channel and key, for five minutes', () => {
  const clock = new FakeClock();
  const keys = new PublishedKeys(100, clock);
  keys.add('1', news, { key: 'k', id });
  keys.add('1', other, { key: 'k', id: undefined });
  expect(keys.find('1', news, 'k')).toMatchObject({ id });
  expect(keys.find('1', other, 'k')).toMatchObject({ id: undefined });
  expect(keys.find('1', news, 'K')).toBeUndefined();
  expect(keys.find('2', news, 'k')).toBeUndefined();
  clock.advance(PUBLISHED_KEY_MS - 1);
  expect(keys.find('1', news, 'k')).toBeDefined();
  clock.advance(1);
  expect(keys.find('1', news, 'k')).toBeUndefined();
  keys.add('1', news, { key: 'new', id });
  expect(keys.size).toBe(1);
});

it('remembers them when the clock of the system is set forward', () => {
  const keys = new PublishedKeys(100, monotonicTimers);
  keys.add('1', news, { key: 'k', id });
  setSystemTime(Date.now() + 2 * PUBLISHED_KEY_MS);
  expect(keys.find('1', news, 'k')).toMatchObject({ id });
});

it('forgets the keys of apps that add none any more', () => {
  const clock = new FakeClock();
  const keys = new PublishedKeys(100, clock);
  for (let n = 0; n < 150; n++) keys.add('gone', news, { key: `k-${n}`, id });
  keys.add('here', news, { key: 'k', id });
  clock.advance(PUBLISHED_KEY_MS);
  for (let n = 0; n < 2; n++) keys.add('here', news, { key: `new-${n}`, id });
  expect(keys.size).toBe(2);
});

it('is bounded; the app with most keys loses its oldest ones', () => {
  const keys = new PublishedKeys(10, new FakeClock());
  for (let n = 0; n < 20; n++) keys.add('loud', news, { key: `k-${n}`, id });
  expect(keys.size).toBe(10);
  for (let n = 0; n < 3; n++) keys.add('quiet', news, { key: `k-${n}`, id });
  expect(keys.size).toBe(10);
  for (let n = 0; n < 3; n++) expect(keys.find('quiet', news, `k-${n}`)).toBeDefined();
  expect(keys.find('loud', news, 'k-12')).toBeUndefined();
  expect(keys.find('loud', news, 'k-19')).toBeDefined();
});
