import { expect, it } from 'bun:test';
import type { Topic } from '../event.ts';
import { appWith, sessionOf } from '../hub.fixture.ts';
import { MemberSessions } from './member-sessions.ts';

const room = 'app/presence-room' as Topic;
const other = 'app/presence-other' as Topic;

it('returns the connections of a member, in one channel', () => {
  const members = new MemberSessions();
  const [phone, laptop] = [sessionOf(appWith()), sessionOf(appWith())];
  members.add(room, 'ann', phone);
  members.add(room, 'ann', phone);
  expect(members.of(room, 'ann')).toEqual([phone]);
  members.add(room, 'ann', laptop);
  members.add(other, 'ann', laptop);
  expect(members.of(room, 'ann')).toEqual([phone, laptop]);
  expect(members.of(room, 'bob')).toEqual([]);

  members.remove(room, 'ann', phone);
  expect(members.of(room, 'ann')).toEqual([laptop]);
  expect(members.of(other, 'ann')).toEqual([laptop]);
});

it('forgets a channel with its last member, and a member with the last connection', () => {
  const members = new MemberSessions();
  const [phone, laptop] = [sessionOf(appWith()), sessionOf(appWith())];
  for (const session of [phone, laptop]) members.add(room, 'ann', session);
  members.add(room, 'bob', phone);
  // It was never in there.
  members.remove(room, 'bob', laptop);
  for (const session of [phone, laptop]) members.remove(room, 'ann', session);
  expect(members.of(room, 'ann')).toEqual([]);
  expect(members.of(room, 'bob')).toEqual([phone]);
  members.remove(room, 'bob', phone);
  members.remove(room, 'bob', phone);
  expect(members.size).toBe(0);
});
