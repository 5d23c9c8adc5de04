import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { tapKinds } from '../../channels/watching/tap.ts';
import { pushTapKinds } from '../../push/watching/push-tap.ts';
import {
  groupOf,
  groups,
  groupsIn,
  parseFilter,
  passes,
  printFilter,
  pushFields,
  pushGroups,
  recordFromFragment,
  recordToFragment,
  streamQuery,
} from './records.ts';

const RECORD = { n: 7, atMs: 1000, kind: 'api', channel: 'private-room-7', event: 'message' };

describe('the filter of the live list', () => {
  it('is read from the words that name fields, and from the rest', () => {
    expect(parseFilter('channel:private-* two words user:7')).toEqual({
      channel: 'private-*',
      socket: '',
      user: '7',
      text: 'two words',
    });
  });

  it('is printed as it was read', () => {
    const word = fc.stringMatching(/^[a-z0-9.*-]{0,8}$/);
    fc.assert(
      fc.property(fc.record({ channel: word, socket: word, user: word, text: word }), (filter) => {
        expect(parseFilter(printFilter(filter))).toEqual(filter);
      }),
    );
  });

  it('asks the server for the kinds of its groups, and for a prefix where a star ends the channel', () => {
    const filter = { groups: groupsIn('presence'), channel: 'a-*', socket: '', user: '', text: '' };
    expect(streamQuery(filter)).toMatchObject({
      kinds: 'member-added,member-removed,user-online,user-offline',
      prefix: 'a-',
    });
  });

  it('lets through what it names', () => {
    const filter = { groups: groupsIn('api'), channel: '', socket: '', user: '', text: '' };
    expect(passes(RECORD, filter)).toBe(true);
    expect(passes({ ...RECORD, kind: 'client' }, filter)).toBe(false);
    expect(passes(RECORD, { ...filter, channel: 'private-*' })).toBe(true);
    expect(passes(RECORD, { ...filter, channel: 'private' })).toBe(false);
    expect(passes(RECORD, { ...filter, text: 'MESS' })).toBe(true);
    expect(passes(RECORD, { ...filter, text: 'other' })).toBe(false);
  });

  it('of an instance has its own fields, and requests its own kinds', () => {
    const typed = 'publish:pubid-1 channel:x device: words';
    const found = { publish: 'pubid-1', device: '', user: '', text: 'channel:x words' };
    expect(parseFilter(typed, pushFields)).toEqual(found);
    const filter = { ...found, groups: groupsIn('gateway', pushGroups) };
    expect(streamQuery(filter, pushGroups)).toMatchObject({
      kinds: 'paused,resumed',
      publish: 'pubid-1',
    });
    const record = { n: 1, atMs: 1, kind: 'paused', publish: 'pubid-1', words: 'channel:x words' };
    expect(passes(record, filter)).toBe(true);
    expect(passes({ ...record, publish: 'pubid-2' }, filter)).toBe(false);
    expect(passes({ ...record, kind: 'failed' }, filter)).toBe(false);
  });

  it('has a group for every kind of an app and of an instance', () => {
    const kindsOf = (all: typeof groups) => all.flatMap(({ kinds }) => kinds).toSorted();
    expect(kindsOf(groups)).toEqual([...tapKinds].toSorted());
    expect(kindsOf(pushGroups)).toEqual([...pushTapKinds].toSorted());
  });

  it('shows an unknown kind among the errors', () => {
    expect(groupOf('new-kind').id).toBe('error');
  });
});

describe('the link to one record', () => {
  it('carries the record itself', () => {
    const record = { ...RECORD, data: '{"text":"Grüße ☀"}' };
    expect(recordFromFragment(recordToFragment(record, true) ?? '')).toEqual(record);
    expect(recordFromFragment(recordToFragment(record, false) ?? '')).toEqual(RECORD);
  });

  it('leaves out a payload that is too long for it', () => {
    const record = { ...RECORD, data: 'x'.repeat(3000) };
    expect(recordFromFragment(recordToFragment(record, true) ?? '')).toEqual(RECORD);
  });

  it('reads only fields of a record, however it was altered', () => {
    const made = (value: unknown) => `record=${btoa(JSON.stringify(value)).replace(/=+$/, '')}`;
    expect(recordFromFragment(made({ ...RECORD, data: { toString: 1 }, channel: 5 }))).toEqual({
      n: 7,
      atMs: 1000,
      kind: 'api',
      event: 'message',
    });
    expect(recordFromFragment(made({ n: '7', atMs: 1, kind: 'api' }))).toBeUndefined();
  });

  it('never throws, whatever it is given', () => {
    fc.assert(fc.property(fc.string(), (text) => void recordFromFragment(`record=${text}`)));
    fc.assert(fc.property(fc.base64String(), (text) => void recordFromFragment(`record=${text}`)));
  });
});
