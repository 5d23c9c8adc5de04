import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FieldFault } from '../refusal.ts';
import { readApnsPayload } from './apns.ts';

const plain = {
  contentAvailable: false,
  data: undefined,
  tracked: true,
  collapseId: undefined,
  expirationSeconds: undefined,
  priority: undefined,
};

const fault = (field: string, reason: string) => new FieldFault(field, reason);

describe('a payload for apns', () => {
  it('is read with all documented fields', () => {
    const aps = {
      alert: {
        title: 'a',
        body: 'b',
        'title-loc-key': 'c',
        'title-loc-args': ['d'],
        'action-loc-key': 'e',
        'loc-key': 'f',
        'loc-args': ['g'],
        'launch-image': 'h',
      },
      badge: 3,
      sound: 'default',
      category: 'i',
      'thread-id': 'j',
    };
    expect(
      readApnsPayload({
        aps,
        data: { some: 'metadata' },
        collapse_id: 'news 1',
        expiration: 1_700_000_000,
        priority: 5,
        pusher: { disable_delivery_tracking: true },
      }),
    ).toEqual({
      aps,
      contentAvailable: false,
      data: { some: 'metadata' },
      tracked: false,
      collapseId: 'news 1',
      expirationSeconds: 1_700_000_000,
      priority: 5,
    });
  });

  it('has one of two priorities', () => {
    expect(readApnsPayload({ aps: {}, priority: 10 })).toEqual({ ...plain, aps: {}, priority: 10 });
  });

  it('has aps, or its fields directly, as in examples of the documentation', () => {
    expect(readApnsPayload({ aps: { alert: 'Hi!' } })).toEqual({ ...plain, aps: { alert: 'Hi!' } });
    expect(readApnsPayload({ aps: {} })).toEqual({ ...plain, aps: {} });
    expect(
      readApnsPayload({ alert: { title: 'Hi!' }, sound: 'default', custom: 1, data: { a: 1 } }),
    ).toEqual({ ...plain, aps: { alert: { title: 'Hi!' }, sound: 'default' }, data: { a: 1 } });
    expect(readApnsPayload({ alert: 'Hi!', 'content-available': 1 })).toMatchObject({
      aps: { alert: 'Hi!' },
      contentAvailable: true,
    });
    expect(readApnsPayload({ aps: null, alert: 'Hi!' })).toMatchObject({ aps: { alert: 'Hi!' } });
  });

  it('passes only aps and data on', () => {
    expect(readApnsPayload({ aps: { alert: 'a' }, alert: 'b', badge: 'x', custom: 1 })).toEqual({
      ...plain,
      aps: { alert: 'a' },
    });
  });

  it.each([{}, { data: {} }, { sound: 'default' }, { aps: null }, { alert: null }])(
    'must have aps: %j',
    (payload) => {
      expect(readApnsPayload(payload)).toEqual(fault('apns.aps', 'aps is required'));
    },
  );

  it('passes undocumented fields of aps through, and drops those that are null', () => {
    const aps = { 'mutable-content': 1, 'interruption-level': 'passive', badge: null, alert: null };
    expect(readApnsPayload({ aps })).toEqual({
      ...plain,
      aps: { 'mutable-content': 1, 'interruption-level': 'passive' },
    });
    const nulls = { data: null, collapse_id: null, expiration: null, priority: null, pusher: null };
    expect(readApnsPayload({ aps: {}, ...nulls })).toEqual({ ...plain, aps: {} });
  });

  it.each([
    [1, true],
    ['1', true],
    [true, true],
    [0, false],
    ['0', false],
    [false, false],
    [null, false],
  ])('may have content-available as %j', (value, contentAvailable) => {
    expect(readApnsPayload({ aps: { 'content-available': value } })).toEqual({
      ...plain,
      aps: {},
      contentAvailable,
    });
  });

  it.each<[string, unknown, string]>([
    ['aps', 'x', 'must be an object'],
    ['aps', [], 'aps is required'],
    ['aps', [1], 'must be an object'],
    ['data', [1], 'must be an object'],
    ['data', { pusher: null }, 'the key "pusher" is reserved'],
    ['expiration', -1, 'must be a whole number from 0 to 9007199254740991'],
    ['expiration', 1.5, 'must be a whole number from 0 to 9007199254740991'],
    ['expiration', '1', 'must be a whole number from 0 to 9007199254740991'],
    ['expiration', 1e300, 'must be a whole number from 0 to 9007199254740991'],
    ['priority', 1, 'must be 5 or 10'],
    ['priority', '5', 'must be 5 or 10'],
    ['priority', 'high', 'must be 5 or 10'],
    ['pusher', true, 'must be an object'],
  ])('must not have the %s %j', (field, value, reason) => {
    expect(readApnsPayload({ aps: {}, [field]: value })).toEqual(fault(`apns.${field}`, reason));
  });

  it.each<[string, unknown, string]>([
    ['alert', 7, 'must be a string or an object'],
    ['alert', ['x'], 'must be a string or an object'],
    ['badge', -1, 'must be a whole number from 0 to 9007199254740991'],
    ['badge', '1', 'must be a whole number from 0 to 9007199254740991'],
    ['sound', 1, 'must be a string or an object'],
    ['content-available', 2, 'must be 1 or 0 or "1" or "0" or true or false'],
    ['content-available', 'yes', 'must be 1 or 0 or "1" or "0" or true or false'],
    ['category', 1, 'must be a string'],
    ['thread-id', {}, 'must be a string'],
  ])('must not have an aps with the %s %j', (field, value, reason) => {
    expect(readApnsPayload({ aps: { [field]: value } })).toEqual(
      fault(`apns.aps.${field}`, reason),
    );
    if (field === 'alert') return;
    expect(readApnsPayload({ alert: 'x', [field]: value })).toEqual(fault(`apns.${field}`, reason));
  });

  it.each<[string, unknown, string]>([
    ['title', 1, 'must be a string'],
    ['body', 1, 'must be a string'],
    ['title-loc-key', 1, 'must be a string'],
    ['title-loc-args', 'x', 'must be an array of strings'],
    ['title-loc-args', [1], 'must be an array of strings'],
    ['action-loc-key', 1, 'must be a string'],
    ['loc-key', 1, 'must be a string'],
    ['loc-args', {}, 'must be an array of strings'],
    ['launch-image', 1, 'must be a string'],
  ])('must not have an alert with the %s %j', (field, value, reason) => {
    const alert = { [field]: value };
    expect(readApnsPayload({ aps: { alert } })).toEqual(fault(`apns.aps.alert.${field}`, reason));
    expect(readApnsPayload({ alert })).toEqual(fault(`apns.alert.${field}`, reason));
    expect(readApnsPayload({ aps: { alert: { [field]: null } } })).not.toBeInstanceOf(FieldFault);
  });

  it('is tracked unless it says otherwise', () => {
    const withPusher = (pusher: unknown) => readApnsPayload({ aps: {}, pusher });
    expect(withPusher({})).toMatchObject({ tracked: true });
    expect(withPusher({ disable_delivery_tracking: false })).toMatchObject({ tracked: true });
    expect(withPusher({ disable_delivery_tracking: true })).toMatchObject({ tracked: false });
    expect(withPusher({ disable_delivery_tracking: 'true' })).toEqual(
      fault('apns.pusher.disable_delivery_tracking', 'must be true or false'),
    );
  });

  it('must have a collapse id that is valid in a header', () => {
    for (const collapse_id of ['a', 'a b', '~!', 'x'.repeat(64)]) {
      expect(readApnsPayload({ aps: {}, collapse_id })).toMatchObject({ collapseId: collapse_id });
    }
    for (const collapse_id of ['', 'x'.repeat(65), 'é', 'a\nb', ' a', 'a ', '\u0000', 7, {}]) {
      expect(readApnsPayload({ aps: {}, collapse_id })).toEqual(
        fault(
          'apns.collapse_id',
          'must be a string of 1 to 64 printable ASCII characters, with no space at its ends',
        ),
      );
    }
  });

  it('is read or refused, for any input', () => {
    const names = [
      'aps',
      'alert',
      'data',
      'badge',
      'pusher',
      'priority',
      'collapse_id',
      'loc-args',
    ];
    const inner = fc.dictionary(fc.constantFrom(...names), fc.jsonValue());
    const outer = fc.dictionary(fc.constantFrom(...names), fc.oneof(inner, fc.jsonValue()));
    fc.assert(
      fc.property(outer, (payload) => {
        const read = readApnsPayload(payload);
        if (read instanceof FieldFault) expect(read.field).toStartWith('apns.');
        else expect(read.aps).toBeObject();
      }),
    );
  });
});
