import { describe, expect, it } from 'bun:test';
import { payloadFault } from './payload-fault.ts';

const INSTANCE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';

const faultOf = (payloads: object) => payloadFault({ ...payloads }, INSTANCE);

describe('payloads of a rule', () => {
  it.each([
    [{ web: { notification: { title: '{{title}}', body: 'fixed' } } }],
    [{ web: { notification: { title: 'A', deep_link: '{{url}}' } } }],
    [{ apns: { aps: { alert: { title: '{{a.b}}', body: '{{c}}' } } } }],
    [{ fcm: { notification: { title: 'A' }, data: { 'a.b': '{{c}}' } } }],
    [{ fcm: { priority: '{{priority}}', data: { text: 'A' } } }],
    [{ web: { notification: { title: 'x'.repeat(3_000) } } }],
  ])('are right if they can be right for some data: %j', (payloads) => {
    expect(faultOf(payloads)).toBeUndefined();
  });

  it.each([
    [{ web: { notification: { title: 7 } } }, 'web.notification.title'],
    [{ web: { notification: { title: '{{a}}', deep_link: 7 } } }, 'web.notification.deep_link'],
    [{ web: 'x' }, 'web'],
    [{ fcm: { priority: 'soon', data: { text: '{{a}}' } } }, 'fcm.priority'],
    [{ web: { time_to_live: -1, notification: { title: '{{a}}' } } }, 'web.time_to_live'],
    [{ web: { notification: { title: 'x'.repeat(6_000) } } }, 'web'],
    [{ web: { notification: { title: `{{a}}${'x'.repeat(6_000)}` } } }, 'web'],
  ])('are wrong if they are wrong for all data: %j', (payloads, field) => {
    expect(faultOf(payloads)).toMatchObject({ field });
  });
});
