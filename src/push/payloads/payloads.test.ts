import { describe, expect, it } from 'bun:test';
import { FieldFault } from '../refusal.ts';
import { readPayloads } from './payloads.ts';

describe('the payloads of a publish', () => {
  it('are each read by their own rules', () => {
    expect(readPayloads({ web: {} })).toMatchObject({ apns: undefined, fcm: undefined, web: {} });
    expect(readPayloads({ apns: { aps: {} }, fcm: {}, web: null })).toMatchObject({
      apns: { aps: {} },
      fcm: { validateOnly: false },
      web: undefined,
    });
  });

  it.each([{}, { apns: null, fcm: null, web: null }, { apns: [], fcm: [], web: [] }])(
    'are at least one: %j',
    (body) => {
      expect(readPayloads(body)).toEqual(
        new FieldFault('apns', 'one of apns, fcm and web is required'),
      );
    },
  );

  it.each(['apns', 'fcm', 'web'])('must be objects: %s', (platform) => {
    for (const value of ['', 'x', 0, true, false, [{}]]) {
      expect(readPayloads({ web: {}, [platform]: value })).toEqual(
        new FieldFault(platform, 'must be an object'),
      );
    }
  });

  it('are refused if one of them is invalid', () => {
    const field = (body: object) => {
      const read = readPayloads({ web: {}, ...body });
      return read instanceof FieldFault && read.field;
    };
    expect(field({ apns: {} })).toBe('apns.aps');
    expect(field({ fcm: { to: 'x' } })).toBe('fcm.to');
    expect(field({ web: { data: 1 } })).toBe('web.data');
  });
});
