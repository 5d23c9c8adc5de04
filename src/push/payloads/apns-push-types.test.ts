import { describe, expect, it } from 'bun:test';
import { FieldFault } from '../refusal.ts';
import { readApnsPayload } from './apns.ts';

const read = (push_type: string, more: Readonly<Record<string, unknown>> = {}) =>
  readApnsPayload({ push_type, ...more });

const why = (push_type: string, more?: Readonly<Record<string, unknown>>) => {
  const payload = read(push_type, more);
  return payload instanceof FieldFault ? `${payload.field}: ${payload.reason}` : undefined;
};

const state = { 'content-state': {} };
const start = { event: 'start', ...state, 'attributes-type': 'A', attributes: {}, alert: {} };
const contents: Readonly<Record<string, object>> = {
  alert: { aps: { alert: 'Hi' } },
  background: { aps: {} },
  liveactivity: { aps: { event: 'end' } },
};

describe('the push type of a payload', () => {
  it('is one of the table', () => {
    const names =
      '"alert" or "background" or "liveactivity" or "voip" or "pushtotalk" or "widgets" or "controls" or "complication" or "location" or "fileprovider"';
    for (const type of ['mdm', '', 7, 'constructor']) {
      const payload = readApnsPayload({ aps: {}, push_type: type });
      expect(payload).toEqual(new FieldFault('apns.push_type', `must be ${names}`));
    }
    expect(readApnsPayload({ aps: {}, push_type: null })).toMatchObject({ aps: {} });
  });

  it.each<[type: string, priorities: readonly number[], usual: number | undefined, words: string]>([
    ['alert', [10, 5, 1], undefined, '10 or 5 or 1'],
    ['background', [5, 1], 5, '5 or 1'],
    ['liveactivity', [10, 5], 10, '10 or 5'],
    ['voip', [10], 10, '10'],
    ['pushtotalk', [10], 10, '10'],
    ['widgets', [10, 5, 1], 10, '10 or 5 or 1'],
    ['controls', [10, 5, 1], 10, '10 or 5 or 1'],
    ['complication', [10, 5, 1], 10, '10 or 5 or 1'],
    ['location', [10, 5], 10, '10 or 5'],
    ['fileprovider', [10, 5, 1], 10, '10 or 5 or 1'],
  ])(
    '%s may have the priorities %j, and has %j if none is given',
    (type, allowed, usual, words) => {
      const given = contents[type];
      expect(read(type, { ...given })).toMatchObject({ pushType: type });
      expect(read(type, { ...given })).toHaveProperty('priority', usual);
      for (const priority of [10, 5, 1, 7, '10']) {
        const isAllowed = allowed.some((one) => one === priority);
        expect(why(type, { ...given, priority })).toBe(
          isAllowed ? undefined : `apns.priority: must be ${words} for ${type}`,
        );
        if (isAllowed) expect(read(type, { ...given, priority })).toMatchObject({ priority });
      }
    },
  );

  it('may miss aps only where Apple does', () => {
    for (const type of ['alert', 'background', 'liveactivity']) {
      expect(why(type)).toBe('apns.aps: aps is required');
    }
    for (const type of [
      ...['voip', 'pushtotalk', 'location', 'fileprovider'],
      ...['widgets', 'controls', 'complication'],
    ]) {
      expect(read(type)).toMatchObject({ aps: {}, pushType: type, kind: type, tracked: false });
    }
  });

  it('fits what is shown', () => {
    for (const shown of [{ alert: 'a' }, { badge: 0 }, { sound: 'x' }]) {
      expect(why('background', { aps: shown })).toBe(
        'apns.push_type: must be alert with alert, badge or sound',
      );
      expect(why('alert', { aps: shown })).toBeUndefined();
    }
    for (const hidden of [{}, { alert: null }, { alert: [] }, { 'content-available': 1 }]) {
      expect(why('alert', { aps: hidden })).toBe(
        'apns.push_type: must be background without alert, badge and sound',
      );
      expect(why('background', { aps: hidden })).toBeUndefined();
    }
  });

  it('decides for which tokens the publish is', () => {
    const kindOf = (type: string, aps?: object) => read(type, { aps });
    expect(kindOf('alert', { alert: 'a' })).toHaveProperty('kind', undefined);
    expect(kindOf('background', {})).toHaveProperty('kind', undefined);
    expect(kindOf('liveactivity', start)).toMatchObject({ kind: 'liveactivity-start' });
    expect(kindOf('liveactivity', { event: 'end' })).toMatchObject({ kind: 'liveactivity' });
    expect(kindOf('voip')).toMatchObject({ kind: 'voip', expirationSeconds: 0 });
    expect(kindOf('pushtotalk')).toMatchObject({ kind: 'pushtotalk', expirationSeconds: 0 });
    expect(read('voip', { expiration: 7 })).toMatchObject({ expirationSeconds: 7 });
    expect(kindOf('widgets')).toHaveProperty('expirationSeconds', undefined);
  });
});

describe('the payload of a live activity', () => {
  const whyAps = (aps: object) => why('liveactivity', { aps });

  it('has an event with all that it needs', () => {
    for (const event of [undefined, null, 'begin', 7, 'toString']) {
      expect(whyAps({ event, ...state })).toBe(
        'apns.aps.event: must be "start" or "update" or "end"',
      );
    }
    expect(whyAps({ event: 'update' })).toBe(
      'apns.aps.content-state: content-state is required for update',
    );
    expect(whyAps({ event: 'end' })).toBeUndefined();
    for (const name of ['content-state', 'attributes-type', 'attributes', 'alert']) {
      expect(whyAps({ ...start, [name]: null })).toBe(
        `apns.aps.${name}: ${name} is required for start`,
      );
    }
    expect(whyAps(start)).toBeUndefined();
  });

  it.each<[name: string, value: unknown, reason: string]>([
    ['content-state', 'x', 'must be an object'],
    ['content-state', [1], 'must be an object'],
    ['attributes', 7, 'must be an object'],
    ['attributes-type', {}, 'must be a string'],
    ['attributes-type', '', 'must not be empty'],
    ['timestamp', 1.5, 'must be a whole number of seconds since 1970'],
    ['timestamp', '7', 'must be a whole number of seconds since 1970'],
    ['stale-date', -1, 'must be a whole number of seconds since 1970'],
    ['dismissal-date', true, 'must be a whole number of seconds since 1970'],
  ])('must not have the %s %j', (name, value, reason) => {
    expect(whyAps({ ...start, [name]: value })).toBe(`apns.aps.${name}: ${reason}`);
  });

  it('may translate the title and the body of its alert, which an alert must not', () => {
    const alert = { title: { 'loc-key': 'a' }, body: { 'loc-key': 'b' }, sound: 'x' };
    expect(whyAps({ ...start, alert })).toBeUndefined();
    expect(why('alert', { aps: { alert } })).toBe('apns.aps.alert.title: must be a string');
    expect(whyAps({ ...start, alert: { title: 7 } })).toBe(
      'apns.aps.alert.title: must be a string or an object',
    );
  });

  it('passes everything else in aps through, and reads `[]` of PHP as an empty object', () => {
    const others = { 'input-push-token': 1, 'input-push-channel': 'x', 'relevance-score': 0.5 };
    expect(read('liveactivity', { aps: { ...start, ...others } })).toMatchObject({
      aps: { ...start, ...others },
    });
    const aps = { ...start, 'content-state': [], attributes: [] };
    expect(read('liveactivity', { aps })).toMatchObject({
      aps: { 'content-state': {}, attributes: {} },
    });
  });
});

describe('further keys of a payload', () => {
  it('are any but those of the message', () => {
    const payload = { caller: { name: 'Ann' }, 'container-identifier': 'x' };
    expect(read('voip', { payload })).toMatchObject({ moreKeys: payload });
    expect(readApnsPayload({ aps: { alert: 'a' }, payload })).toMatchObject({ moreKeys: payload });
    for (const key of ['aps', 'data']) {
      expect(why('voip', { payload: { [key]: {} } })).toBe(
        `apns.payload: the key "${key}" is reserved`,
      );
    }
    expect(why('voip', { payload: 'x' })).toBe('apns.payload: must be an object');
    expect(read('voip', { payload: [] })).toHaveProperty('moreKeys', undefined);
  });
});
