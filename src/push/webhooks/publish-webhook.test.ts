import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import type { LiveStatus } from '../model/live.ts';
import { NO_COUNTS } from '../model/publish.ts';
import { newPublishId } from '../model/publish-id.ts';
import {
  finishedBody,
  publishWebhookHeaders,
  publishWebhookUrl,
  redactedPublishWebhook,
  startedBody,
} from './publish-webhook.ts';

const INSTANCE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';
const publishId = newPublishId(Date.UTC(2026, 0, 1));

const counts = { apns: NO_COUNTS, fcm: NO_COUNTS, web: NO_COUNTS };
const toInterests = { interests: ['a'], web: {}, apns: { aps: {} } };
const withUrl = (webhookUrl: string) => JSON.stringify({ ...toInterests, webhookUrl });

describe('the address of a publish webhook', () => {
  it.each([
    ['https://a.test/hook?x=1', 'https://a.test/hook?x=1'],
    ['https://ann:geheim@a.test:8443/hook', 'https://a.test:8443/hook'],
    ['http://ann@a.test', 'http://a.test/'],
    ['https://:geheim@a.test/', 'https://a.test/'],
  ])('%s is shown as %s', (given, shown) => {
    expect(publishWebhookUrl(withUrl(given))).toBe(shown);
  });

  it('is found if its key has escapes', () => {
    expect(publishWebhookUrl('{"webhook\\u0055rl":"https://a.test/"}')).toBe('https://a.test/');
  });

  it('is undefined if the publish has none', () => {
    for (const body of ['{}', '{"webhookUrl":null}', '{"a":"webhookUrl"}', '{"a":"\\n"}']) {
      expect(publishWebhookUrl(body)).toBeUndefined();
    }
  });
});

describe('the body', () => {
  const text = '\n{ "interests":["a"], "web":{"data":{"n":1.0e1,"big":12345678901234567890}} }';

  it('at the start has the unchanged request', () => {
    const body = startedBody(publishId, text);
    expect(body).toContain(text);
    expect(JSON.parse(body)).toEqual({
      publishId,
      status: 'STARTED',
      requestBody: JSON.parse(text),
    });
  });

  it('at the end has the result of the live part, if there is one', () => {
    const live: LiveStatus = {
      state: 'done',
      push: 'absent',
      waitSeconds: 4,
      users: 3,
      reached: 1,
      silent: 1,
      absent: 1,
      connections: 2,
      why: undefined,
    };
    const body = finishedBody(publishId, '{"users":["a"],"web":{}}', { platforms: counts, live });
    const { waitSeconds: _, ...shown } = live;
    expect(JSON.parse(body).live).toEqual({ ...shown, why: null });
  });

  it('at the end has the counts of each platform that the publish is for', () => {
    const request = { interests: ['a'], web: {}, apns: { aps: {} }, fcm: null };
    const body = finishedBody(publishId, JSON.stringify(request), {
      platforms: {
        ...counts,
        web: {
          ...NO_COUNTS,
          planned: 20,
          accepted: 10,
          failed: 4,
          pruned: 3,
          expired: 2,
          cancelled: 1,
        },
        fcm: { ...NO_COUNTS, accepted: 9 },
      },
    });
    expect(JSON.parse(body)).toEqual({
      publishId,
      status: 'FINISHED',
      requestBody: request,
      results: {
        apns: { numSuccessfulPublishes: 0, numFailedPublishes: 0 },
        web: { numSuccessfulPublishes: 10, numFailedPublishes: 10 },
      },
    });
  });

  it('is JSON for any request', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue()), (request) => {
        const requestText = JSON.stringify(request);
        const body = finishedBody(publishId, requestText, { platforms: counts });
        expect(JSON.parse(body).requestBody).toEqual(JSON.parse(requestText));
        expect(JSON.parse(redactedPublishWebhook(body)).status).toBe('FINISHED');
      }),
    );
  });
});

describe('the headers', () => {
  const headers = (webhookUrl: string) =>
    publishWebhookHeaders(INSTANCE, startedBody(publishId, withUrl(webhookUrl)));
  const pair = (header: string | undefined) =>
    Buffer.from(header?.replace('Basic ', '') ?? '', 'base64').toString();

  it('have no authorization if the URL has no user name and password', () => {
    expect(headers('https://a.test/')).toEqual({
      'content-type': 'application/json',
      'user-agent': 'pusher-webhooks',
      'webhook-request-id-uuid': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  it.each([
    ['https://ann:geheim@a.test/', 'ann:geheim'],
    ['https://ann@a.test/', 'ann:'],
    ['https://:x@a.test/', ':x'],
    ['https://zo%C3%AB:a%3Ab%40c@a.test/', 'zoë:a:b@c'],
    ['https://zoë:ä b@a.test/'.replace(' ', '%20'), 'zoë:ä b'],
    // Accepted as it is: refusing it here would help no one.
    ['https://ann:100%@a.test/', 'ann:100%'],
  ])('have the user name and password of %s', (url, expected) => {
    expect(pair(headers(url)['authorization'])).toBe(expected);
  });

  it('have an id that is the same each time, and differs between start and end', () => {
    const body = withUrl('https://a.test/');
    const id = (body: string) => publishWebhookHeaders(INSTANCE, body)['webhook-request-id-uuid'];
    const ended = finishedBody(publishId, body, { platforms: counts });
    expect(id(ended)).toBe(
      id(finishedBody(publishId, body, { platforms: { ...counts, web: NO_COUNTS } })),
    );
    expect(id(ended)).not.toBe(id(startedBody(publishId, body)));
  });
});

describe('the redacted body', () => {
  it('has no user name, password or query values', () => {
    const body = startedBody(publishId, withUrl('https://ann:geheim@a.test/hook?key=geheim'));
    const shown = redactedPublishWebhook(body);
    expect(shown).not.toContain('geheim');
    expect(JSON.parse(shown)).toEqual({
      publishId,
      status: 'STARTED',
      requestBody: { ...toInterests, webhookUrl: 'https://***@a.test/hook?key=***' },
    });
  });

  it('is unchanged if there are none', () => {
    for (const body of [startedBody(publishId, withUrl('https://a.test')), 'no JSON', '{}']) {
      expect(redactedPublishWebhook(body)).toBe(body);
    }
  });
});
