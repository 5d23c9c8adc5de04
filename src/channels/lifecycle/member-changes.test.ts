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
    goes: (member: Member) => changes.removed(app, channel, member),
    knownTo: (newcomer: Member, ...members: Member[]) =>
      changes.known(app, channel, members, newcomer),
    forgets: () => changes.forget(app, channel),
    /** Returns the events since the last call. */
    reported: () =>
      hub.audience.sent.splice(0).map(({ frame }) => {
        const { event, data } = JSON.parse(frame);
        return `${event.split(':')[1]} ${JSON.parse(data).user_id}`;
      }),
  };
}

describe('members', () => {
  it('get each change of a user up to the limit in a second, and then the departure if it lasts', () => {
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
      'member_added ann',
    ]);
    hub.clock.advance(1000);
    expect(reported()).toEqual(['member_removed ann']);
    comes(ann);
    expect(reported()).toEqual(['member_added ann']);
  });

  it('never learn of a departure beyond the limit if the user returns in time', () => {
    const { hub, comes, goes, reported } = stage(1);
    comes(ann);
    goes(ann);
    comes(ann);
    hub.clock.advance(5000);
    expect(reported()).toEqual(['member_added ann']);
    goes(ann);
    expect(reported()).toEqual(['member_removed ann']);
  });

  it('learn of a departure and a return together if the user has returned with another info', () => {
    const { hub, comes, goes, reported } = stage(1);
    const other = { ...ann, userInfo: '{"n":2}' };
    comes(ann);
    goes(ann);
    comes(other);
    goes(other);
    comes(other);
    expect(reported()).toEqual(['member_added ann']);
    hub.clock.advance(1000);
    expect(reported()).toEqual(['member_removed ann', 'member_added ann']);
  });

  it('who come before a departure is reported know its user too, but themselves as they are', () => {
    const { hub, comes, goes, knownTo } = stage(1);
    comes(ann);
    goes(ann);
    expect(knownTo(bob, bob)).toEqual([ann, bob]);
    const other = { ...ann, userInfo: '{"n":2}' };
    comes(other);
    expect(knownTo(bob, other, bob)).toEqual([ann, bob]);
    expect(knownTo(other, other, bob)).toEqual([other, bob]);
    hub.clock.advance(1000);
    expect(knownTo(bob, other, bob)).toEqual([other, bob]);
  });

  it('learn of no departure from a channel that all subscribers had left', () => {
    const { hub, comes, goes, reported, forgets, knownTo } = stage(1);
    comes(ann);
    goes(ann);
    forgets();
    comes(ann);
    reported();
    hub.clock.advance(1000);
    expect(reported()).toEqual([]);
    expect(knownTo(ann, ann)).toEqual([ann]);
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

  it('get no event about themselves', () => {
    const { hub, comes, socketId } = stage(1);
    comes(ann);
    expect(hub.audience.sent.map(({ except }) => except)).toEqual([socketId]);
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
