import { describe, expect, it } from 'bun:test';
import { FieldFault } from '../refusal.ts';
import { readPayloads } from './payloads.ts';

describe('the payloads of a publish', () => {
  it('are read each by its own rules', () => {
    expect(readPayloads({ web: {} })).toMatchObject({ apns: undefined, fcm: undefined, web: {} });
    expect(readPayloads({ apns: { aps: {} }, fcm: {}, web: null })).toMatchObject({
      apns: { aps: {} },
      fcm: { validateOnly: false },
      web: undefined,
    });
  });

  it.each([{}, { apns: null, fcm: null, web: null }])('are one at least: %j', (body) => {
    expect(readPayloads(body)).toEqual(
      new FieldFault('apns', 'one of apns, fcm and web is required'),
    );
  });

  it.each(['apns', 'fcm', 'web'])('are objects: %s', (platform) => {
    for (const value of ['', 'x', 0, true, false, []]) {
      expect(readPayloads({ web: {}, [platform]: value })).toEqual(
        new FieldFault(platform, 'must be an object'),
      );
    }
  });

  it('are refused for what is wrong with one of them', () => {
    const field = (body: object) => {
      const read = readPayloads({ web: {}, ...body });
      return read instanceof FieldFault && read.field;
    };
    expect(field({ apns: {} })).toBe('apns.aps');
    expect(field({ fcm: { to: 'x' } })).toBe('fcm.to');
    expect(field({ web: { data: 1 } })).toBe('web.data');
  });
});
