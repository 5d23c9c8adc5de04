import { describe, expect, it } from 'bun:test';
import { outlineOfBody, readOutline, writeOutline } from './publish-outline.ts';

describe('the outline of a publish', () => {
  it('has the names and the platforms', () => {
    const target = { kind: 'interests', names: ['news', 'sport'] } as const;
    const text = writeOutline({ target, platforms: ['apns', 'web'] });
    expect(readOutline(text)).toEqual({ names: ['news', 'sport'], platforms: ['apns', 'web'] });
  });

  it('leaves out names that are too long together', () => {
    const names = Array.from({ length: 1000 }, (_, n) => `user-${n}`);
    const text = writeOutline({ target: { kind: 'users', names }, platforms: ['fcm'] });
    expect(text.length).toBeLessThan(100);
    expect(readOutline(text)).toEqual({ names: undefined, platforms: ['fcm'] });
  });

  it('can be read from the body', () => {
    const body = JSON.stringify({ users: ['ann', 'ann'], fcm: {}, web: null, apns: { aps: {} } });
    expect(outlineOfBody('users', body)).toEqual({
      names: ['ann', 'ann'],
      platforms: ['apns', 'fcm'],
      apns: { type: 'background', kind: undefined },
    });
    expect(outlineOfBody('interests', body).names).toBeUndefined();
  });

  it('has the push type and the kind of tokens, unless it is an alert', () => {
    const target = { kind: 'interests', names: ['a'] } as const;
    const kept = (apns: object) => {
      const { apns: inBody } = outlineOfBody('interests', JSON.stringify({ apns }));
      return readOutline(writeOutline({ target, platforms: ['apns'], apns: inBody })).apns;
    };
    expect(kept({ aps: { alert: 'Hi' } })).toBeUndefined();
    expect(kept({ alert: 'Hi' })).toBeUndefined();
    expect(kept({ aps: {} })).toEqual({ type: 'background', kind: undefined });
    expect(kept({ push_type: 'voip' })).toEqual({ type: 'voip', kind: 'voip' });
    for (const [event, kind] of [
      ['start', 'liveactivity-start'],
      ['update', 'liveactivity'],
      ['end', 'liveactivity'],
    ] as const) {
      expect(kept({ push_type: 'liveactivity', aps: { event } })).toEqual({
        type: 'liveactivity',
        kind,
      });
    }
    expect(readOutline('{"apns":{"type":"x"}}').apns).toBeUndefined();
  });
});
