import { describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { newPublishId } from '../model/publish-id.ts';
import { beamsBody, beamsHeaders, userReportEvent, usersAttemptEvent } from './beams-webhook.ts';

const INSTANCE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';
const NOW_MS = Date.UTC(2019, 2, 11, 10, 42, 16, 987);
const publishId = newPublishId(NOW_MS);
const deviceId = 'web-0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a70';
const ID = '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed';

const attempt = (delivered: string[], gatewayFailed: string[], noDevices: string[]) =>
  usersAttemptEvent(INSTANCE, publishId, { delivered, gatewayFailed, noDevices });
const opened = userReportEvent(INSTANCE, { event: 'open', publishId, deviceId, userId: 'zoë' });

describe('the body', () => {
  it('of a publish to users is as documented', () => {
    const event = attempt(['user-001', 'user-002'], [], ['user-005']);
    expect(JSON.parse(beamsBody(event, {}, NOW_MS))).toEqual({
      payload: {
        instance_id: INSTANCE,
        publish_id: publishId,
        users_delivered_to_gateway: ['user-001', 'user-002'],
        users_no_devices: ['user-005'],
        users_gateway_failed: [],
      },
      metadata: {
        created_at: '2019-03-11T10:42:16+0000',
        event_type: 'v1.PublishToUsersAttempt',
        event_id: event.id,
        product: 'beams',
      },
      custom_data: {},
    });
  });

  it('of a publish with a live part names the users who got it in the app, first and only there', () => {
    const { payload } = usersAttemptEvent(INSTANCE, publishId, {
      delivered: ['ann', 'bob'],
      gatewayFailed: [],
      noDevices: ['cid', 'dan'],
      live: ['ann', 'dan'],
    });
    expect(payload).toMatchObject({
      users_reached_live: ['ann', 'dan'],
      users_delivered_to_gateway: ['bob'],
      users_no_devices: ['cid'],
    });
  });

  it.each([
    ['delivery', 'v1.UserNotificationAcknowledgement'],
    ['open', 'v1.UserNotificationOpen'],
  ] as const)('of a report of %s is that of the documentation', (event, type) => {
    const sent = userReportEvent(INSTANCE, { event, publishId, deviceId, userId: 'zoë' });
    const customData = { tenant: 7, nested: { a: [null] } };
    expect(JSON.parse(beamsBody(sent, customData, NOW_MS))).toEqual({
      payload: { instance_id: INSTANCE, publish_id: publishId, user_id: 'zoë' },
      metadata: {
        created_at: '2019-03-11T10:42:16+0000',
        event_type: type,
        event_id: sent.id,
        product: 'beams',
      },
      custom_data: customData,
    });
  });

  it('of a report does not have the device id, which is a secret', () => {
    expect(beamsBody(opened, {}, NOW_MS)).not.toContain(deviceId);
  });
});

describe('the users of a publish', () => {
  it('are each in exactly one list: delivered, else failed, else no devices', () => {
    const user = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const users = fc.array(user, { maxLength: 6 });
    fc.assert(
      fc.property(users, users, users, (delivered, failed, none) => {
        const { payload } = attempt(delivered, failed, none);
        const lists = [
          payload['users_delivered_to_gateway'],
          payload['users_gateway_failed'],
          payload['users_no_devices'],
        ] as string[][];
        const all = lists.flat();
        expect(all.toSorted()).toEqual([...new Set([...delivered, ...failed, ...none])].sort());
        expect(lists[0]).toEqual([...new Set(delivered)]);
        for (const one of lists[1] ?? []) expect(delivered).not.toContain(one);
      }),
    );
  });
});

describe('the id of an event', () => {
  it('is the same each time the event is sent', () => {
    expect(attempt(['a'], [], []).id).toBe(attempt([], ['a'], []).id);
  });

  it('differs between devices, kinds of reports and publishes', () => {
    const report = { event: 'open', publishId, deviceId, userId: 'a' } as const;
    const events = [
      report,
      { ...report, event: 'delivery' as const },
      { ...report, deviceId: `${deviceId}0` },
      { ...report, publishId: newPublishId(NOW_MS) },
    ];
    const ids = events.map((event) => userReportEvent(INSTANCE, event).id);
    expect(new Set([...ids, attempt([], [], []).id]).size).toBe(5);
  });
});

describe('the headers', () => {
  it('are as documented, with the HMAC-SHA1 of the body', () => {
    const body = beamsBody(opened, {}, NOW_MS);
    expect(beamsHeaders({ id: ID, secret: 'geheim ✓' }, 'request-1', body)).toEqual({
      'content-type': 'application/json',
      'user-agent': 'pusher-webhooks',
      'webhook-event-type': 'v1.UserNotificationOpen',
      'webhook-id-uuid': ID,
      'webhook-request-id-uuid': 'request-1',
      'webhook-signature': createHmac('sha1', 'geheim ✓').update(Buffer.from(body)).digest('hex'),
    });
  });

  it('sign with the key and text of RFC 2202, test case 2', () => {
    const { 'webhook-signature': signature } = beamsHeaders(
      { id: ID, secret: 'Jefe' },
      'r',
      'what do ya want for nothing?',
    );
    expect(signature).toBe('effcdf6ae5eb2fa2d27416d5f184df9c259a7c79');
  });
});
