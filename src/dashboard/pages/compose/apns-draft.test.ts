import { describe, expect, it } from 'bun:test';
import { apnsTextOf, pushTypeOf, withApnsField, withEvent, withPushType } from './apns-draft.ts';

const alert = { title: 'Hello', body: 'It works' };
const body = { interests: ['a'], apns: { aps: { alert } }, web: { notification: alert } };

describe('a draft for Apple devices', () => {
  it('is an alert, and again an alert after another push type', () => {
    expect(pushTypeOf(body)).toBe('alert');
    const changed = withPushType(body, 'widgets');
    expect(changed).toEqual({ ...body, apns: { push_type: 'widgets' } });
    expect(pushTypeOf(changed)).toBe('widgets');
    expect(withPushType(changed, 'alert')).toEqual(body);
    expect(withPushType(body, 'background')['apns']).toEqual({ push_type: 'background', aps: {} });
  });

  it('of a live activity has what its event needs', () => {
    const updates = withPushType(body, 'liveactivity');
    const update = { event: 'update', 'content-state': {} };
    expect(updates['apns']).toEqual({ push_type: 'liveactivity', aps: update });
    const starts = withEvent(updates, 'start');
    expect(starts['apns']).toEqual({
      push_type: 'liveactivity',
      aps: { ...update, event: 'start', 'attributes-type': '', attributes: {}, alert },
    });
    expect(withEvent(starts, 'update')).toEqual(updates);
  });

  it('reads and writes fields as text', () => {
    const written = withApnsField(body, 'content-state', { a: 1 }, true);
    expect(apnsTextOf(written, 'content-state', true)).toBe('{"a":1}');
    expect(withApnsField(written, 'content-state', '', true)).toEqual(body);
    const keys = withApnsField(body, 'payload', { a: 1 }, false);
    expect(apnsTextOf(keys, 'payload', false)).toBe('{"a":1}');
    expect(apnsTextOf(body, 'payload', false)).toBe('');
  });
});
