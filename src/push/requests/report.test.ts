import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { newDeviceId } from '../model/device-id.ts';
import { newPublishId } from '../model/publish-id.ts';
import { PushRefusal } from '../refusal.ts';
import { readReport } from './report.ts';

const publishId = newPublishId(Date.UTC(2026, 0, 1));
const deviceId = newDeviceId('web');
const body = { event: 'delivery', publishId, deviceId, timestampSecs: 1_700_000_000 };
const nothing = {
  userId: undefined,
  appInBackground: undefined,
  hasDisplayableContent: undefined,
  hasData: undefined,
};

const refused = (description: string) => new PushRefusal('bad-request', description);

describe('a report', () => {
  it('is read as the web SDK sends it', () => {
    const web = { userId: null, appInBackground: false, hasDisplayableContent: true };
    expect(readReport({ ...body, ...web })).toEqual({
      event: 'delivery',
      publishId,
      deviceId,
      timestampSeconds: 1_700_000_000,
      userId: undefined,
      appInBackground: false,
      hasDisplayableContent: true,
      hasData: undefined,
    });
  });

  it('is read as the mobile SDKs send it', () => {
    const mobile = {
      instanceId: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
      event: 'Delivery',
      userId: 'u-1',
      appInBackground: true,
      hasDisplayableContent: false,
      hasData: true,
    };
    expect(readReport({ ...body, ...mobile })).toEqual({
      event: 'delivery',
      publishId,
      deviceId,
      timestampSeconds: 1_700_000_000,
      userId: 'u-1',
      appInBackground: true,
      hasDisplayableContent: false,
      hasData: true,
    });
    expect(readReport({ ...body, event: 'Open' })).toMatchObject({ event: 'open' });
  });

  it.each(['event', 'publishId', 'deviceId', 'timestampSecs'])('must have %s', (field) => {
    const missing = refused(`\`${field}\`: ${field} is required`);
    expect(readReport({ ...body, [field]: undefined })).toEqual(missing);
    expect(readReport({ ...body, [field]: null })).toEqual(missing);
  });

  it('is refused for the first field that is missing', () => {
    const fields = ['event', 'publishId', 'deviceId', 'timestampSecs'];
    const report: Record<string, unknown> = { userId: 7 };
    for (const field of fields) {
      expect(readReport(report)).toEqual(refused(`\`${field}\`: ${field} is required`));
      report[field] = body[field as keyof typeof body];
    }
    expect(readReport(report)).toEqual(refused('`userId`: the user id is not a string'));
  });

  it.each<unknown>(['', 'dismiss', 'deliver', ' open', 1, true, {}, [['open']]])(
    'must not have the event %j',
    (event) => {
      expect(readReport({ ...body, event })).toEqual(refused('`event`: must be delivery or open'));
    },
  );

  it.each(['publishId', 'deviceId'])('must have a valid %s', (field) => {
    for (const value of ['', 'x'.repeat(201), 'a\u0000', '\ud800', 1, {}, ['x']]) {
      expect(readReport({ ...body, [field]: value })).toEqual(
        refused(`\`${field}\`: must be a string of 1 to 200 characters`),
      );
    }
    for (const value of ['x', 'pubid-1', 'web-1', 'x'.repeat(200)]) {
      expect(readReport({ ...body, [field]: value })).toMatchObject({ [field]: value });
    }
  });

  it('has its ids normalised', () => {
    const loud = {
      publishId: `pubid-${publishId.slice(6).toUpperCase()}`,
      deviceId: `web-${deviceId.slice(4).toUpperCase()}`,
    };
    expect(readReport({ ...body, ...loud })).toMatchObject({ publishId, deviceId });
  });

  it.each([0, 1_700_000_000, 1.7e9, 253_402_300_799])('may have the time %j', (timestampSecs) => {
    expect(readReport({ ...body, timestampSecs })).toMatchObject({
      timestampSeconds: timestampSecs,
    });
  });

  it.each([-1, 1.5, 253_402_300_800, 1e300, '1700000000', true, {}])(
    'must not have the time %j',
    (timestampSecs) => {
      expect(readReport({ ...body, timestampSecs })).toEqual(
        refused('`timestampSecs`: must be a whole number of seconds from 0 to 253402300799'),
      );
    },
  );

  it.each([
    ['', 'is empty'],
    [7, 'is not a string'],
    ['x'.repeat(165), 'is too long: the limit is 164 bytes of UTF-8'],
  ])('must not have the user %j', (userId, why) => {
    expect(readReport({ ...body, userId })).toEqual(refused(`\`userId\`: the user id ${why}`));
  });

  it.each(['appInBackground', 'hasDisplayableContent', 'hasData'])(
    'has the flag %s for a delivery only',
    (field) => {
      for (const value of ['true', 1, 0, {}, []]) {
        expect(readReport({ ...body, [field]: value })).toEqual(
          refused(`\`${field}\`: must be true or false`),
        );
        expect(readReport({ ...body, event: 'open', [field]: value })).toMatchObject(nothing);
      }
      expect(readReport({ ...body, [field]: null })).toMatchObject({ [field]: undefined });
      expect(readReport({ ...body, event: 'open', [field]: true })).toMatchObject(nothing);
    },
  );

  it('is read or refused, for any input', () => {
    const value = fc.oneof(fc.anything(), fc.constantFrom('open', publishId, deviceId, 1, null));
    const names = ['event', 'publishId', 'deviceId', 'timestampSecs', 'userId', 'hasData'];
    const bodies = fc.oneof(
      fc.dictionary(fc.constantFrom(...names), value),
      fc.dictionary(fc.constantFrom(...names), value).map((more) => ({ ...body, ...more })),
    );
    fc.assert(
      fc.property(bodies, (fields) => {
        const read = readReport(fields);
        if (read instanceof PushRefusal) expect(read.problem).toBe('bad-request');
        else expect(Object.keys(read)).toHaveLength(8);
      }),
    );
  });
});
