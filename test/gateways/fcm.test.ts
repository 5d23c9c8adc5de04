import { describe, expect, it } from 'bun:test';
import { newFakeAccount } from '../../src/fake-gateways/fcm/access-token-issuer.ts';
import { type FakeFcm, fcmRefusal } from '../../src/fake-gateways/fcm/fake-fcm.ts';
import type { ServedSession } from '../../src/fake-gateways/http2-server.ts';
import { ProjectRates } from '../../src/gateways/fcm/project-rate.ts';
import {
  accepted,
  notAuthorised,
  refused,
  tokenGone,
  tryAgain,
} from '../../src/gateways/outcomes.ts';
import { FakeTime } from '../../testing/fake-time.ts';
import { deliverAll } from './deliveries.ts';
import { credentialIn, fcmDevice, fcmDevices, fcmSite, publishBy } from './fcm-devices.ts';

const MINUTE_MS = 60_000;

/** Delivers one message, so that a connection is open and the project is known to be right. */
async function connected(site: Awaited<ReturnType<typeof fcmSite>>): Promise<ServedSession> {
  expect(await publishBy(site.gateway)(fcmDevice(999))).toEqual(accepted);
  const [session] = site.fcm.sessions;
  if (session === undefined || site.fcm.sessions.size > 1) {
    throw new Error(`${site.fcm.sessions.size} connections`);
  }
  return session;
}

const tokensIn = ({ arrivals }: FakeFcm) => arrivals.list().map(({ token }) => token);

describe('a message for a device of Firebase', () => {
  it('arrives in the form of FCM', async () => {
    await using site = await fcmSite();
    const deliver = publishBy(site.gateway, {
      notification: { title: 'Hi', body: 'There' },
      data: { a: { b: 1 } },
      time_to_live: 3600,
      priority: 'high',
    });
    expect(await deliver(fcmDevice(1))).toEqual(accepted);
    const [arrival] = site.fcm.arrivals.list();
    expect(arrival?.fields).toEqual({
      ':method': 'POST',
      ':scheme': 'https',
      ':authority': site.fcm.origin.slice('https://'.length),
      ':path': '/v1/projects/fanfare-fake/messages:send',
      'content-type': 'application/json',
      'content-length': String(arrival?.payload.length),
    });
    expect(JSON.parse(arrival?.payload ?? '')).toEqual({
      message: {
        token: fcmDevice(1).token,
        notification: { title: 'Hi', body: 'There' },
        data: { a: '{"b":1}', pusher: expect.stringContaining('"publishId":"pubid-') },
        android: {
          priority: 'HIGH',
          ttl: '3600s',
          notification: {
            tag: expect.stringMatching(/^pubid-/),
            click_action: 'com.pusher.pushnotifications.OPEN_TRACKING',
          },
        },
      },
    });
  });

  it('arrives for an installation id instead of a token', async () => {
    await using site = await fcmSite();
    const token = 'c7uAbc_-1234567890abcd';
    expect(await publishBy(site.gateway)({ ...fcmDevice(1), token })).toEqual(accepted);
    expect(JSON.parse(site.fcm.arrivals.list()[0]?.payload ?? '')).toMatchObject({
      message: { fid: token },
    });
  });

  it('arrives exactly once among many', async () => {
    await using site = await fcmSite();
    const devices = fcmDevices(site.gateway.atOnce);
    const outcomes = await deliverAll(publishBy(site.gateway), devices);
    expect(outcomes.every(({ result }) => result === 'accepted')).toBe(true);
    expect(tokensIn(site.fcm).toSorted()).toEqual(devices.map(({ token }) => token).toSorted());
    expect(site.fcm.issuer.granted).toBe(1);
  });

  it('that only FCM can reject is refused with the text of FCM', async () => {
    await using site = await fcmSite();
    const deliver = publishBy(site.gateway, { data: { a: 'x'.repeat(4096) } });
    expect(await deliver(fcmDevice(1))).toMatchObject({
      ...refused('INVALID_ARGUMENT', expect.stringContaining('Message too big')),
      scope: 'publish',
    });
  });
});

describe('an answer of FCM', () => {
  it.each([
    [400, 'INVALID_ARGUMENT', refused('INVALID_ARGUMENT')],
    [404, 'UNREGISTERED', tokenGone('UNREGISTERED')],
    [403, 'PERMISSION_DENIED', notAuthorised('PERMISSION_DENIED')],
    [401, 'THIRD_PARTY_AUTH_ERROR', refused('THIRD_PARTY_AUTH_ERROR')],
    [429, 'QUOTA_EXCEEDED', tryAgain('QUOTA_EXCEEDED', 'gateway', MINUTE_MS)],
    [503, 'UNAVAILABLE', tryAgain('UNAVAILABLE', 'gateway')],
    [500, 'INTERNAL', tryAgain('INTERNAL', 'gateway')],
  ] as const)('becomes an outcome: %d %s', async (status, code, outcome) => {
    await using site = await fcmSite();
    site.fcm.script.forNext(1, fcmRefusal(status, code));
    expect(await publishBy(site.gateway)(fcmDevice(1))).toEqual(outcome);
    expect(site.fcm.arrivals.count).toBe(1);
    expect(site.fcm.issuer.granted).toBe(1);
  });

  it('becomes an outcome with the pause that it asks for', async () => {
    await using site = await fcmSite();
    site.fcm.script.forNext(1, fcmRefusal(503, 'UNAVAILABLE', { 'retry-after': '12' }));
    site.fcm.script.forNext(1, fcmRefusal(429, 'QUOTA_EXCEEDED', { 'retry-after': '90' }));
    const deliver = publishBy(site.gateway);
    expect([await deliver(fcmDevice(1)), await deliver(fcmDevice(1))]).toEqual([
      tryAgain('UNAVAILABLE', 'gateway', 12_000),
      tryAgain('QUOTA_EXCEEDED', 'gateway', 90_000),
    ]);
  });

  it('may reject a malformed token', async () => {
    await using site = await fcmSite();
    const details = [
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field: 'message.token', description: 'Invalid registration token' }],
      },
    ];
    site.fcm.script.forNext(1, fcmRefusal(400, 'INVALID_ARGUMENT', {}, details));
    expect(await publishBy(site.gateway)(fcmDevice(1))).toEqual(tokenGone('INVALID_ARGUMENT'));
  });

  it('about a device of another project counts once a device of this one was reached', async () => {
    await using site = await fcmSite();
    const mismatch = fcmRefusal(403, 'SENDER_ID_MISMATCH');
    site.fcm.script.forNext(2, mismatch);
    const deliver = publishBy(site.gateway);
    expect(await deliverAll(deliver, fcmDevices(2))).toEqual([
      refused('SENDER_ID_MISMATCH'),
      refused('SENDER_ID_MISMATCH'),
    ]);
    await connected(site);
    site.fcm.script.forNext(1, mismatch);
    expect(await deliver(fcmDevice(1))).toEqual(tokenGone('SENDER_ID_MISMATCH'));
  });
});

describe('the access token', () => {
  it('is renewed before its end', async () => {
    await using site = await fcmSite();
    const deliver = publishBy(site.gateway);
    for (let minute = 0; minute < 150; minute++) {
      expect(await deliver(fcmDevice(minute))).toEqual(accepted);
      site.pass(MINUTE_MS);
    }
    expect(site.fcm.issuer.granted).toBe(3);
  });

  it('is replaced if FCM refuses it, and each message arrives', async () => {
    await using site = await fcmSite();
    await connected(site);
    site.fcm.issuer.revokeAll();
    const outcomes = await deliverAll(publishBy(site.gateway), fcmDevices(50));
    expect(outcomes).toEqual(outcomes.map(() => accepted));
    expect(site.fcm.issuer.granted).toBe(2);
  });

  it('is not replaced twice: then something else is wrong', async () => {
    await using site = await fcmSite();
    site.fcm.script.forNext(100, fcmRefusal(401, 'UNAUTHENTICATED'));
    const outcomes = await deliverAll(publishBy(site.gateway), fcmDevices(20));
    expect(outcomes).toEqual(outcomes.map(() => notAuthorised('UNAUTHENTICATED')));
    expect(site.fcm.issuer.granted).toBe(2);
  });

  it('is not issued for an unknown key', async () => {
    await using site = await fcmSite();
    const { privateKey } = newFakeAccount();
    await using gateway = site.open({ credential: credentialIn(site.fcm, { privateKey }) });
    expect(await publishBy(gateway)(fcmDevice(1))).toEqual({
      ...notAuthorised('access-token-invalid_grant', 'Invalid JWT Signature.'),
      scope: 'connection',
    });
    expect(site.fcm.arrivals.count).toBe(0);
  });

  it('is needed: without one, nothing is sent', async () => {
    await using site = await fcmSite();
    site.fcm.tokenScript.forNext(1, {
      act: 'answer',
      status: 503,
      fields: { 'retry-after': '20' },
    });
    const deliver = publishBy(site.gateway);
    expect(await deliverAll(deliver, fcmDevices(2))).toEqual([
      tryAgain('access-token-http-503', 'connection', 20_000),
      tryAgain('access-token-http-503', 'connection', 20_000),
    ]);
    expect(await deliver(fcmDevice(1))).toMatchObject({ reason: 'access-token-http-503' });
    expect(site.fcm.arrivals.count).toBe(0);
    site.pass(20_000);
    expect(await deliver(fcmDevice(1))).toEqual(accepted);
  });
});

describe('the rate', () => {
  it('is the quota of Google, for all instances of a project', async () => {
    const timers = new FakeTime({ turns: 20 });
    const rates = new ProjectRates({ timers, perMinute: 600 });
    await using site = await fcmSite({ rates });
    await using other = site.open({});
    const atOnce = deliverAll(publishBy(site.gateway), fcmDevices(300));
    expect(await atOnce).toEqual(fcmDevices(300).map(() => accepted));
    const more = publishBy(other)(fcmDevice(1000));
    // It has an access token, but waits for the rate.
    while (site.fcm.issuer.granted < 2) await timers.advance(0);
    expect(site.fcm.arrivals.count).toBe(300);
    await timers.advance(5_000);
    expect(await more).toEqual(accepted);
    expect(site.fcm.arrivals.count).toBe(301);
  });

  it('limits how many wait, for all instances of a project', async () => {
    const timers = new FakeTime({ turns: 20 });
    const rates = new ProjectRates({ timers, perMinute: 600 });
    await using site = await fcmSite({ rates });
    await connected(site);
    await using other = site.open({});
    expect(await publishBy(other)(fcmDevice(998))).toEqual(accepted);
    const before = site.fcm.arrivals.count;
    const first = deliverAll(publishBy(site.gateway), fcmDevices(298 + 4));
    const second = deliverAll(publishBy(other), fcmDevices(10));
    expect(await Promise.race([second, site.fcm.arrivals.reaches(before + 298)])).toBeUndefined();
    await timers.advance(60_000);
    const outcomes = [...(await first), ...(await second)];
    expect(outcomes.slice(306)).toEqual(
      Array.from({ length: 6 }, () => tryAgain('too-many-waiting', 'gateway')),
    );
    expect(outcomes.slice(0, 306)).toEqual(Array.from({ length: 306 }, () => accepted));
  });

  it('falls when FCM reports an overload', async () => {
    const timers = new FakeTime({ turns: 20 });
    const rates = new ProjectRates({ timers, perMinute: 600 });
    await using site = await fcmSite({ rates });
    site.fcm.script.forNext(1, fcmRefusal(429, 'QUOTA_EXCEEDED'));
    const deliver = publishBy(site.gateway);
    expect(await deliver(fcmDevice(1))).toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    const next = deliver(fcmDevice(2));
    await timers.advance(10);
    expect(site.fcm.arrivals.count).toBe(1);
    await timers.advance(5_000);
    expect(await next).toEqual(accepted);
  });

  it('does not fall because of a device that was never accepted', async () => {
    const timers = new FakeTime({ turns: 20 });
    const rates = new ProjectRates({ timers, perMinute: 600 });
    await using site = await fcmSite({ rates });
    const deliver = publishBy(site.gateway);
    expect(await deliver(fcmDevice(1))).toEqual(accepted);
    site.fcm.script.forNext(50, fcmRefusal(429, 'QUOTA_EXCEEDED'));
    const untrusted = fcmDevices(50).map((device) => ({ ...device, isTrusted: false }));
    const outcomes = await deliverAll(deliver, untrusted);
    expect(new Set(outcomes.map(({ result }) => result))).toEqual(new Set(['try-again']));
    expect(await deliver(fcmDevice(2))).toEqual(accepted);
  });
});

describe('the connections', () => {
  it('are opened as needed, with 100 concurrent messages each', async () => {
    await using site = await fcmSite({}, { streamsAnnounced: 1000 });
    await connected(site);
    site.fcm.script.latencyMs = 5;
    const outcomes = await deliverAll(publishBy(site.gateway), fcmDevices(900));
    expect(outcomes.every(({ result }) => result === 'accepted')).toBe(true);
    const sessions = [...site.fcm.sessions];
    expect(sessions.length).toBeGreaterThan(1);
    expect(sessions.length).toBeLessThanOrEqual(15);
    expect(Math.max(...sessions.map(({ peakStreams }) => peakStreams))).toBe(100);
    expect(sessions.map(({ refusals }) => refusals)).toEqual(sessions.map(() => 0));
  });

  it('that FCM ends for too many messages are replaced, and each message arrives once', async () => {
    await using site = await fcmSite({}, { streamsMax: 10, streamsAnnounced: 100 });
    await connected(site);
    site.fcm.script.latencyMs = 5;
    const devices = fcmDevices(15);
    const outcomes = await deliverAll(publishBy(site.gateway), devices);
    expect(outcomes).toEqual(devices.map(() => accepted));
    expect(site.events).toContainEqual({
      event: 'connection-leaving',
      why: expect.stringContaining('exceeded_max_concurrent_streams'),
    });
    expect(new Set(tokensIn(site.fcm)).size).toBe(16);
    expect(site.fcm.arrivals.count).toBe(16);
  });

  it('that FCM ends for their age are replaced under load', async () => {
    await using site = await fcmSite();
    site.fcm.script.forToken(fcmDevice(20).token, { act: 'go-away' }, 1);
    site.fcm.script.forToken(fcmDevice(30).token, { act: 'turn-away' }, 1);
    const outcomes = await deliverAll(publishBy(site.gateway), fcmDevices(60));
    expect(outcomes).toEqual(outcomes.map(() => accepted));
    expect(site.fcm.arrivals.count).toBe(60);
  });

  it('that break leave outcomes open', async () => {
    await using site = await fcmSite();
    await connected(site);
    site.fcm.script.forToken(fcmDevice(3).token, { act: 'cut' }, 1);
    const outcomes = await deliverAll(publishBy(site.gateway), fcmDevices(10));
    for (const outcome of outcomes) {
      if (outcome.result === 'accepted') continue;
      expect(outcome).toEqual(tryAgain('connection-lost', 'device'));
    }
    expect(outcomes[3]).toEqual(tryAgain('connection-lost', 'device'));
    expect(await publishBy(site.gateway)(fcmDevice(3))).toEqual(accepted);
  });

  it('with a hanging message give that one up in time', async () => {
    await using site = await fcmSite({ requestTimeoutMs: 600 });
    site.fcm.script.forToken(fcmDevice(1).token, { act: 'hang' });
    const hanging = publishBy(site.gateway)(fcmDevice(1));
    const others = publishBy(site.gateway);
    let outcome: unknown;
    void hanging.then((settled) => {
      outcome = settled;
    });
    while (outcome === undefined) expect(await others(fcmDevice(2))).toEqual(accepted);
    expect(outcome).toEqual(tryAgain('no-answer', 'device'));
  });

  it('cannot be made to a closed port', async () => {
    await using site = await fcmSite({ origin: 'https://127.0.0.1:1' });
    expect(await publishBy(site.gateway)(fcmDevice(1))).toEqual(
      tryAgain('unreachable', 'connection'),
    );
    expect(site.events).toEqual([{ event: 'unreachable', why: 'ECONNREFUSED' }]);
  });

  it('are not made to an untrusted certificate', async () => {
    await using site = await fcmSite({ ca: undefined });
    expect(await publishBy(site.gateway)(fcmDevice(1))).toMatchObject({ reason: 'unreachable' });
    expect(site.fcm.arrivals.count).toBe(0);
  });

  it('end with the gateway, and all that waits settles', async () => {
    await using site = await fcmSite();
    site.fcm.script.forNext(1, { act: 'hang' });
    const hanging = publishBy(site.gateway)(fcmDevice(1));
    await site.fcm.arrivals.reaches(1);
    await site.gateway[Symbol.asyncDispose]();
    expect(await hanging).toMatchObject({ result: 'try-again', reason: 'closed' });
    expect(await publishBy(site.gateway)(fcmDevice(2))).toMatchObject({ reason: 'closed' });
  });
});
