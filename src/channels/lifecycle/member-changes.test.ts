import { describe, expect, it } from 'bun:test';
import type { App } from '../app.ts';
import { broadcast } from '../broadcast.ts';
import { appWith, channelName, hubWith, sessionOf } from '../hub.fixture.ts';
import type { Member } from '../ports.ts';
import { MemberChanges } from './member-changes.ts';

const channel = channelName('presence-x');
const ann: Member = { userId: 'ann', userInfo: undefined };
const bob: Member = { userId: 'bob', userInfo: undefined };

function stage(memberChangesPerSecond: number) {
  const plain = appWith();
  const app: App = { ...plain, limits: { ...plain.limits, memberChangesPerSecond } };
  const hub = hubWith();
  const changes = new MemberChanges(hub.clock, (sent) => broadcast(hub, sent));
  const { peer, socketId } = sessionOf(app);
  return {
    hub,
    app,
    peer,
    socketId,
    comes: (member: Member) => changes.added(app, channel, member, socketId),
    goes: (member: Member) => changes.removed(app, channel, member.userId),
    /** Returns the events since the last call. */
    reported: () =>
      hub.audience.sent.splice(0).map(({ frame }) => {
        const { event, data } = JSON.parse(frame);
        return `${event.split(':')[1]} ${JSON.parse(data).user_id}`;
      }),
  };
}

describe('members', () => {
  it('get each change of a user up to the limit in a second, and then the last one', () => {
    const { hub, comes, goes, reported } = stage(4);
    for (let n = 0; n < 100; n++) {
      comes(ann);
      goes(ann);
    }
    expect(reported()).toEqual([
      'member_added ann',
      'member_removed ann',
      'member_added ann',
      'member_removed ann',
    ]);
    hub.clock.advance(1000);
    // Users who joined in between saw her in the list.
    expect(reported()).toEqual(['member_removed ann']);
    comes(ann);
    expect(reported()).toEqual(['member_added ann']);
  });

  it('get the changes of other users without delay', () => {
    const { comes, goes, reported } = stage(2);
    for (let n = 0; n < 100; n++) {
      comes(ann);
      goes(ann);
    }
    reported();
    comes(bob);
    goes(bob);
    expect(reported()).toEqual(['member_added bob', 'member_removed bob']);
  });

  it('get no event about themselves, even if it is sent late', () => {
    const { hub, comes, goes, socketId } = stage(1);
    comes(ann);
    goes(ann);
    comes(ann);
    hub.clock.advance(1000);
    expect(hub.audience.sent.map(({ except }) => except)).toEqual([socketId, socketId]);
  });

  it('get each change if there is no limit', () => {
    const { comes, goes, reported } = stage(0);
    for (let n = 0; n < 100; n++) {
      comes(ann);
      goes(ann);
    }
    expect(reported()).toHaveLength(200);
  });

  it('cost the app messages that clients caused', () => {
    const { app, hub, peer, comes } = stage(1);
    hub.audience.join(peer, 'app/presence-x' as never);
    comes(ann);
    expect(hub.usage.todayOf(app)).toEqual({ backend: 0, clients: 1 });
  });
});
