import { expect, it } from 'bun:test';
import { Rosters } from './rosters.ts';
import { ROOM } from './seating.ts';

const succeeded = (ids: readonly string[]) =>
  JSON.stringify({ data: JSON.stringify({ presence: { count: ids.length, ids } }) });
const changed = (what: 'added' | 'removed', user: string) =>
  JSON.stringify({
    event: `pusher_internal:member_${what}`,
    data: JSON.stringify({ user_id: user, user_info: {} }),
  });

it('counts clients that know exactly the members of their channel', () => {
  const rosters = new Rosters(2 * ROOM);
  const second = Array.from({ length: ROOM }, (_, seat) => String(ROOM + seat));
  rosters.begin(ROOM, succeeded(second));
  expect(rosters.rightCount).toBe(1);

  rosters.change(ROOM, changed('removed', String(ROOM + 3)));
  expect(rosters.rightCount).toBe(0);
  // As many as there should be, and one of them is of another channel.
  rosters.change(ROOM, changed('added', '1'));
  expect(rosters.rightCount).toBe(0);

  rosters.change(ROOM, changed('removed', '1'));
  rosters.change(ROOM, changed('added', String(ROOM + 3)));
  expect(rosters.rightCount).toBe(1);
  rosters.forget(ROOM);
  expect(rosters.rightCount).toBe(0);
});
