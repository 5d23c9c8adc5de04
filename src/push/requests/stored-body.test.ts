import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { readStoredPublish } from '../delivering/stored-publish.ts';
import type { PublishTarget } from '../model/publish.ts';
import { newPublishId } from '../model/publish-id.ts';
import { bodyToKeep } from './stored-body.ts';

const PAD = 'x'.repeat(5000);
const kept = (fields: object, kind: PublishTarget['kind'] = 'interests') =>
  bodyToKeep(kind, fields as Record<string, unknown>, JSON.stringify(fields, null, 1));

describe('the stored body of a publish', () => {
  it('is unchanged if it has only documented fields', () => {
    const fields = {
      interests: ['a'],
      sendAt: '2026-12-01T00:00:00Z',
      apns: { aps: { alert: 'Hi' }, data: { a: 1 }, collapse_id: 'c' },
      fcm: { notification: { title: 'Hi' }, time_to_live: 5 },
      web: null,
    };
    expect(kept(fields)).toBe(JSON.stringify(fields, null, 1));
  });

  it('has no undocumented fields of the publish or its payloads', () => {
    const fields = {
      pad: PAD,
      interests: ['a'],
      users: [PAD],
      apns: { alert: 'Hi', badge: 1, pad: PAD },
      fcm: { data: { pad: 'small' }, pad: PAD },
      web: { notification: { title: 'Hi' }, pad: PAD },
    };
    expect(JSON.parse(kept(fields))).toEqual({
      interests: ['a'],
      apns: { alert: 'Hi', badge: 1 },
      fcm: { data: { pad: 'small' } },
      web: { notification: { title: 'Hi' } },
    });
  });

  it('has no spaces between its fields if it is long', () => {
    const fields = { users: ['ann'], fcm: {} };
    const text = `${' '.repeat(100_000)}${JSON.stringify(fields)}`;
    expect(bodyToKeep('users', fields, text)).toBe(JSON.stringify(fields));
  });

  it('is the whole request if it has a webhook', () => {
    const fields = { interests: ['a'], pad: PAD, webhookUrl: 'https://example.org', fcm: {} };
    expect(kept(fields)).toBe(JSON.stringify(fields, null, 1));
  });

  it('gives devices the same messages', () => {
    const names = fc.constantFrom('interests', 'users', 'pad', 'constructor', '__proto__', 'to2');
    const value = fc.oneof(fc.constant(PAD), fc.constant(null), fc.array(fc.string()), fc.object());
    const payload = fc.record(
      {
        data: fc.dictionary(fc.stringMatching(/^[a-f]{1,3}$/), fc.string()),
        notification: fc.record({ title: fc.string() }),
        alert: fc.string(),
        aps: fc.record({ alert: fc.string() }),
        time_to_live: fc.nat(1000),
        pad: value,
      },
      { requiredKeys: ['data'] },
    );
    fc.assert(
      fc.property(
        fc.dictionary(names, value),
        fc.record({ fcm: payload, web: payload, apns: payload }, { requiredKeys: ['fcm'] }),
        (others, payloads) => {
          const fields = { ...others, interests: ['a', 'b'], ...payloads };
          const text = JSON.stringify(fields);
          const read = (body: string) =>
            readStoredPublish({
              number: 1,
              id: newPublishId(0),
              instance: 1,
              kind: 'interests',
              body,
              createdAtMs: 0,
              dueAtMs: 0,
            });
          const body = bodyToKeep('interests', JSON.parse(text), text);
          expect(read(body)).toEqual(read(text));
          expect(body.length).toBeLessThanOrEqual(text.length);
        },
      ),
    );
  });
});
