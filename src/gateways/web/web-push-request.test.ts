import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { newPublishId } from '../../push/model/publish-id.ts';
import { webPayload } from '../../push/payloads/web.fixture.ts';
import { urgencies, type WebPayload } from '../../push/payloads/web.ts';
import { WebPushFields } from './web-push-request.ts';

const START_MS = 1_800_000_000_000;
const MOZILLA = 'updates.push.services.mozilla.com';
const publishId = newPublishId(START_MS);

function fieldsOf(timeToLiveSeconds: number, more: Partial<WebPayload> = {}): WebPushFields {
  return new WebPushFields({
    instanceId: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
    publishId,
    acceptedAtMs: START_MS,
    payload: webPayload({ timeToLiveSeconds, ...more }),
  });
}

function headersOf(fields: WebPushFields, nowMs: number, hostname = MOZILLA) {
  return Object.fromEntries(fields.at(nowMs, hostname).map(({ name, value }) => [name, value]));
}

const ttlOf = (timeToLiveSeconds: number, passedMs: number) =>
  headersOf(fieldsOf(timeToLiveSeconds), START_MS + passedMs)['ttl'];

describe('the headers of a message', () => {
  it('are those of RFC 8030 and RFC 8291', () => {
    expect(headersOf(fieldsOf(3600), START_MS)).toEqual({
      'content-encoding': 'aes128gcm',
      'content-type': 'application/octet-stream',
      urgency: 'normal',
      ttl: '3600',
      topic: publishId.slice(6).replaceAll('-', ''),
    });
  });

  it('have the rest of the time to live, counted from the publish', () => {
    expect(ttlOf(3600, 5)).toBe('3600');
    expect(ttlOf(3600, 1_000)).toBe('3599');
    expect(ttlOf(3600, 3_599_500)).toBe('1');
    expect(ttlOf(2_419_200, 0)).toBe('2419200');
  });

  it('never have a negative time to live', () => {
    expect(ttlOf(0, 0)).toBe('0');
    expect(ttlOf(0, 1)).toBe('0');
    expect(ttlOf(60, 90_000)).toBe('0');
    // The clock was set back.
    expect(ttlOf(60, -1_000)).toBe('61');
  });

  it('are made once a second', () => {
    const fields = fieldsOf(60);
    const first = fields.at(START_MS + 1, MOZILLA);
    expect(fields.at(START_MS + 2, MOZILLA)).toBe(first);
    expect(fields.at(START_MS + 1_002, MOZILLA)).not.toBe(first);
  });

  it('have a topic that Apple can decode, the same for each attempt', () => {
    fc.assert(
      fc.property(fc.nat(), (passedMs) => {
        const { topic = '' } = headersOf(fieldsOf(60), START_MS + passedMs);
        expect(topic).toMatch(/^[\w-]{32}$/);
        expect(headersOf(fieldsOf(60), START_MS)['topic']).toBe(topic);
      }),
    );
  });

  it('tell Windows whether the message waits for a device that is offline', () => {
    const windows = 'wns2-by3p.notify.windows.com';
    const policyOf = (timeToLiveSeconds: number, hostname = windows) =>
      headersOf(fieldsOf(timeToLiveSeconds), START_MS, hostname)['x-wns-cache-policy'];
    expect([policyOf(0), policyOf(1)]).toEqual(['no-cache', 'cache']);
    expect(policyOf(0, 'notify.windows.com.example.test')).toBeUndefined();
    expect(policyOf(0, MOZILLA)).toBeUndefined();
  });

  it('have the urgency and the topic of the publish, the topic for every push service', () => {
    for (const urgency of urgencies) {
      expect(headersOf(fieldsOf(60, { urgency }), START_MS)).toMatchObject({ urgency });
    }
    for (const hostname of [MOZILLA, 'fcm.googleapis.com', 'web.push.apple.com']) {
      const headers = headersOf(fieldsOf(60, { topic: 'chat-7' }), START_MS, hostname);
      expect(headers).toMatchObject({ topic: 'chat-7', urgency: 'normal' });
    }
  });

  it('have no topic of ours for Google, which keeps only four', () => {
    for (const google of ['fcm.googleapis.com', 'android.googleapis.com', 'jmt17.google.com']) {
      expect(headersOf(fieldsOf(60), START_MS, google)).not.toHaveProperty('topic');
    }
    for (const other of ['web.push.apple.com', 'googleapis.com.example.test', 'notgoogle.com']) {
      expect(headersOf(fieldsOf(60), START_MS, other)).toHaveProperty('topic');
    }
  });
});
