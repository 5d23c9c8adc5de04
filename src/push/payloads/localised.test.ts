import { describe, expect, it } from 'bun:test';
import type { JsonObject } from '../../runtime/json-object.ts';
import { FieldFault } from '../refusal.ts';
import { withText } from './localised.ts';
import { readPayloads } from './payloads.ts';

const BOTH = { title: 'Hallo', body: 'Dein Essen' };
const ONLY_TITLE = { title: 'Hallo', body: undefined };
const ONLY_BODY = { title: undefined, body: 'Dein Essen' };

function localised(body: JsonObject, text: Parameters<typeof withText>[1]) {
  const payloads = readPayloads(body);
  if (payloads instanceof FieldFault) throw new Error(payloads.reason);
  return withText(payloads, text);
}

describe('a text in another language', () => {
  it('leaves the alert of a live activity as it is', () => {
    const alert = { title: 'A', body: 'B' };
    const start = { event: 'start', 'content-state': {}, 'attributes-type': 'O', attributes: {} };
    const apns = { push_type: 'liveactivity', aps: { ...start, alert } };
    expect(localised({ apns }, BOTH).apns?.aps['alert']).toEqual(alert);
  });

  it('replaces the alert of Apple', () => {
    const alertWith = (alert: unknown, text: typeof BOTH | typeof ONLY_TITLE | typeof ONLY_BODY) =>
      localised({ apns: { aps: { alert, badge: 1 } } }, text).apns?.aps['alert'];
    expect(alertWith('Hi', ONLY_BODY)).toBe('Dein Essen');
    expect(alertWith('Hi', ONLY_TITLE)).toEqual({ title: 'Hallo', body: 'Hi' });
    expect(alertWith('Hi', BOTH)).toEqual(BOTH);
    expect(alertWith({ title: 'A', body: 'B', subtitle: 'C' }, ONLY_BODY)).toEqual({
      title: 'A',
      body: 'Dein Essen',
      subtitle: 'C',
    });
    const keys = {
      'title-loc-key': 'T',
      'title-loc-args': ['1'],
      'loc-key': 'B',
      'loc-args': ['2'],
    };
    expect(alertWith(keys, BOTH)).toEqual(BOTH);
    expect(alertWith(keys, ONLY_TITLE)).toEqual({
      title: 'Hallo',
      'loc-key': 'B',
      'loc-args': ['2'],
    });
  });

  it('replaces the notification of FCM, in the legacy form and in that of v1', () => {
    const legacy = {
      notification: { title: 'A', body: 'B', title_loc_key: 'T', color: '#000000' },
    };
    expect(localised({ fcm: legacy }, ONLY_TITLE).fcm).toMatchObject({
      notification: { title: 'Hallo', body: 'B' },
      androidNotification: { color: '#000000' },
    });
    const v1 = { android: { notification: { title: 'A', body: 'B', body_loc_key: 'K' } } };
    const { notification, androidNotification } = localised({ fcm: v1 }, BOTH).fcm ?? {};
    expect<unknown>([notification, androidNotification]).toEqual([BOTH, {}]);
  });

  it('replaces the notification of browsers', () => {
    const notification = { title: 'A', body: 'B', icon: '/i.png' };
    expect(localised({ web: { notification } }, BOTH).web?.notification).toEqual({
      ...BOTH,
      icon: '/i.png',
    });
  });

  it('leaves a platform alone that shows nothing', () => {
    const body = {
      apns: { aps: { 'content-available': 1, badge: 3 } },
      fcm: { data: { a: 1 } },
      web: { data: { a: 1 } },
    };
    expect<unknown>(localised(body, BOTH)).toEqual(readPayloads(body));
  });
});
