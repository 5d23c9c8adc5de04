import { describe, expect, it } from 'bun:test';
import { keptField } from '../../outgoing/http2/hpack/header-field.ts';
import { readPublishId } from '../../push/model/publish-id.ts';
import { apnsFields, apnsPath, isTopic } from './apns-request.ts';

const publishId = readPublishId('pubid-0b8e7c9c-1111-4111-8111-111111111111');
if (publishId === undefined) throw new Error('no publish id');
const authorization = keptField('authorization', 'bearer t');

describe('a request to Apple', () => {
  it('has the headers of the publish', () => {
    const fields = apnsFields(
      { pushType: 'alert', priority: 10, expiration: 0, collapseId: 'score' },
      'com.example.app',
      publishId,
      authorization,
    );
    expect(fields.map(({ name, value, kept }) => [name, value, kept])).toEqual([
      ['authorization', 'bearer t', true],
      ['apns-topic', 'com.example.app', true],
      ['apns-push-type', 'alert', true],
      ['apns-priority', '10', true],
      ['apns-expiration', '0', false],
      ['apns-collapse-id', 'score', false],
    ]);
  });

  it('has the publish id as collapse id if the publisher gave none', () => {
    const fields = apnsFields({ pushType: 'background' }, 'a.b', publishId, authorization);
    expect(fields.map(({ name, value }) => `${name}: ${value}`)).toEqual([
      'authorization: bearer t',
      'apns-topic: a.b',
      'apns-push-type: background',
      `apns-collapse-id: ${publishId}`,
    ]);
    // Source: push protocol, §8.1.
    expect(publishId.length).toBeLessThanOrEqual(64);
  });

  it('has the token in its path', () => {
    const token = 'aB'.repeat(32);
    expect(apnsPath(token)).toBe(`/3/device/${token}`);
  });

  it.each(['', 'ab', 'x'.repeat(64), `${'ab'.repeat(32)}/..`, `${'ab'.repeat(32)}\n`, 'ä'])(
    'is not made for the token %j',
    (token) => {
      expect(apnsPath(token)).toBeUndefined();
    },
  );

  it.each([undefined, '', 'a b', 'a\nb', 'ä', 'a'.repeat(256)])('is not for the app %j', (id) => {
    expect(isTopic(id)).toBe(false);
  });
});
