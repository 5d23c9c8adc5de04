import { expect, it } from 'bun:test';
import { nearChannel } from './near-channel.ts';

const occupied = ['private-user.1', 'presence-room-7', 'private-cache-news', '#server-to-user-ada'];

it.each([
  ['private-user-1', 'private-user.1'],
  ['user.1', 'private-user.1'],
  ['private-room-7', 'presence-room-7'],
  ['Presence-Room-7', 'presence-room-7'],
  ['news', 'private-cache-news'],
  ['private-usr.1', 'private-user.1'],
  ['orders', undefined],
  ['#server-to-user-adb', undefined],
])('%s most likely means %p', (name, meant) => {
  expect(nearChannel(name, occupied)).toBe(meant);
});

it('never means the empty channel itself', () => {
  expect(nearChannel('private-user.1', ['private-user.1'])).toBeUndefined();
});
