import { describe, expect, it } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { apnsRefusal, type FakeApns } from '../../src/fake-gateways/apns/fake-apns.ts';
import type { ServedSession } from '../../src/fake-gateways/http2-server.ts';
import {
  accepted,
  notAuthorised,
  refused,
  refusedForAll,
  tokenGone,
  tryAgain,
} from '../../src/gateways/outcomes.ts';
import { apnsDevice, apnsDevices, apnsSite, publishBy, TOPIC } from './apns-devices.ts';
import { deliverAll } from './deliveries.ts';

function onlySession({ sessions }: FakeApns): ServedSession {
  const [session] = sessions;
  if (session === undefined || sessions.size > 1) throw new Error(`${sessions.size} connections`);
  return session;
}

/** Delivers one notification, so that a connection is open and has answered. */
async function connected(site: Awaited<ReturnType<typeof apnsSite>>): Promise<ServedSession> {
  expect(await publishBy(site.gateway)(apnsDevice(1_000_000))).toEqual(accepted);
  return onlySession(site.production);
}

describe('a notification for an Apple device', () => {
  it('arrives in Apple’s form', async () => {
    await using site = await apnsSite();
    const deliver = publishBy(site.gateway, {
      aps: { alert: { title: 'Hi', body: 'There' } },
      data: { a: 1 },
      collapse_id: 'score',
      expiration: 1_800_000_000,
      priority: 10,
    });
    expect(await deliver(apnsDevice(1))).toEqual(accepted);
    const [arrival] = site.production.arrivals.list();
    expect(arrival?.fields).toEqual({
      ':method': 'POST',
      ':scheme': 'https',
      ':authority': site.production.origin.slice('https://'.length),
      ':path': `/3/device/${apnsDevice(1).token}`,
      'apns-topic': TOPIC,
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-expiration': '1800000000',
      'apns-collapse-id': 'score',
      'content-length': String(arrival?.payload.length),
    });
    expect(JSON.parse(arrival?.payload ?? '')).toMatchObject({
      aps: { alert: { title: 'Hi', body: 'There' }, 'content-available': 1 },
      data: { a: 1, pusher: { userShouldIgnore: true } },
    });
  });

  it('has a collapse id, so that a duplicate is shown once', async () => {
    await using site = await apnsSite();
    const deliver = publishBy(site.gateway);
    await deliverAll(deliver, [apnsDevice(1), apnsDevice(1)]);
    const [first, second] = site.production.arrivals
      .list()
      .map(({ fields }) => fields['apns-collapse-id']);
    expect(first).toMatch(/^pubid-/);
    expect(second).toBe(first ?? '');
  });

  it('arrives in every app of the instance', async () => {
    await using site = await apnsSite();
    const deliver = publishBy(site.gateway);
    const bundles = Array.from({ length: 250 }, (_, number) => `com.example.app${number}`);
    const outcomes = await deliverAll(
      deliver,
      bundles.map((bundleId, number) => apnsDevice(number, bundleId)),
    );
    expect(outcomes).toEqual(bundles.map(() => accepted));
    const topics = site.production.arrivals.list().map(({ fields }) => fields['apns-topic']);
    expect(topics.toSorted()).toEqual(bundles.toSorted());
  });

  it('is not sent without a token of Apple', async () => {
    await using site = await apnsSite();
    const deliver = publishBy(site.gateway);
    const device = apnsDevice(1);
    expect([
      await deliver({ ...device, token: 'x/../y' }),
      await deliver({ ...device, bundleId: undefined }),
      await deliver({ ...device, bundleId: 'a\r\nb' }),
    ]).toEqual([refused('no-apns-token'), refused('no-bundle-id'), refused('no-bundle-id')]);
    expect(site.production.arrivals.count).toBe(0);
  });

  it('arrives exactly once among many at full speed', async () => {
    await using site = await apnsSite({}, { startsWithOne: true });
    const devices = apnsDevices(site.gateway.atOnce);
    const outcomes = await deliverAll(publishBy(site.gateway), devices);
    expect(outcomes.every(({ result }) => result === 'accepted')).toBe(true);
    const tokens = site.production.arrivals.list().map(({ token }) => token);
    expect(tokens.toSorted()).toEqual(devices.map(({ token }) => token).toSorted());
  });
});

describe('an answer of Apple', () => {
  it.each([
    [400, 'TopicDisallowed', refused('TopicDisallowed')],
    [403, 'Forbidden', notAuthorised('Forbidden')],
    [413, 'PayloadTooLarge', refusedForAll('PayloadTooLarge')],
    [500, 'InternalServerError', tryAgain('InternalServerError', 'gateway')],
  ] as const)('becomes an outcome: %d %s', async (status, reason, outcome) => {
    await using site = await apnsSite();
    site.production.script.forNext(1, apnsRefusal(status, reason));
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(outcome);
    expect(site.production.arrivals.count).toBe(1);
  });

  it('becomes an outcome with the pause that it asks for', async () => {
    await using site = await apnsSite();
    site.production.script.forNext(1, apnsRefusal(429, 'TooManyRequests', { 'retry-after': '12' }));
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(
      tryAgain('TooManyRequests', 'device', 12_000),
    );
  });

  it('becomes an outcome with the time since when a token is gone', async () => {
    await using site = await apnsSite();
    site.production.script.forNext(1, apnsRefusal(410, 'Unregistered', {}, 1_700_000_000_000));
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(
      tokenGone('Unregistered', 1_700_000_000_000),
    );
  });

  it('about an old connection is retried over a new one', async () => {
    await using site = await apnsSite();
    const first = await connected(site);
    site.production.script.forNext(1, apnsRefusal(400, 'IdleTimeout'));
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(accepted);
    expect(site.events).toContainEqual({
      event: 'connection-leaving',
      why: 'Apple asked for a new connection',
    });
    expect([...site.production.sessions].at(-1)).not.toBe(first);
    // Connections are replaced once a minute at most.
    site.production.script.forNext(1, apnsRefusal(503, 'Shutdown'));
    expect(await publishBy(site.gateway)(apnsDevice(1))).toMatchObject({
      result: 'try-again',
      reason: 'Shutdown',
      scope: 'gateway',
    });
  });
});

describe('a token that Apple does not know', () => {
  const badToken = apnsRefusal(400, 'BadDeviceToken');
  const gone = tokenGone('BadDeviceToken');

  it('is gone if others of the app are known', async () => {
    await using site = await apnsSite();
    await connected(site);
    site.production.script.forToken(apnsDevice(1).token, badToken);
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(gone);
    // No token of the other app is known.
    expect(await publishBy(site.gateway)(apnsDevice(1, 'com.example.other'))).toEqual(
      refused('BadDeviceToken'),
    );
  });

  it('is refused if none of the app is known: the environment may be wrong', async () => {
    await using site = await apnsSite();
    site.production.script.forNext(3, badToken);
    const outcomes = await deliverAll(publishBy(site.gateway), apnsDevices(3));
    expect(new Set(outcomes.map(({ result }) => result))).toEqual(new Set(['refused']));
    expect(site.sandbox.arrivals.count).toBe(0);
  });

  it('is tried in the other environment, which is remembered', async () => {
    await using site = await apnsSite({ environment: 'auto' });
    const device = apnsDevice(1);
    site.production.script.forToken(device.token, badToken);
    const deliver = publishBy(site.gateway);
    expect([await deliver(device), await deliver(device)]).toEqual([accepted, accepted]);
    expect([site.production.arrivals.count, site.sandbox.arrivals.count]).toEqual([1, 2]);
    // The app was reinstalled from the store.
    site.production.script.clear();
    site.sandbox.script.forToken(device.token, badToken);
    expect([await deliver(device), await deliver(device)]).toEqual([accepted, accepted]);
    expect([site.production.arrivals.count, site.sandbox.arrivals.count]).toEqual([3, 3]);
  });

  it('is gone if neither environment knows it', async () => {
    await using site = await apnsSite({ environment: 'auto' });
    site.production.script.forNext(1, badToken);
    site.sandbox.script.forNext(1, badToken);
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(gone);
  });

  it('stays if the other environment refuses our key, or is in trouble', async () => {
    await using site = await apnsSite({ environment: 'auto' });
    site.production.script.forNext(2, badToken);
    site.sandbox.script.forNext(1, apnsRefusal(403, 'BadEnvironmentKeyInToken'));
    site.sandbox.script.forNext(1, apnsRefusal(503, 'ServiceUnavailable'));
    const deliver = publishBy(site.gateway);
    expect([await deliver(apnsDevice(1)), await deliver(apnsDevice(1))]).toEqual([
      refused('BadDeviceToken'),
      tryAgain('ServiceUnavailable', 'device'),
    ]);
  });

  it('is not tried where the key is known to be refused', async () => {
    await using site = await apnsSite({ environment: 'auto' });
    site.production.script.forNext(10, apnsRefusal(403, 'BadEnvironmentKeyInToken'));
    const deliver = publishBy(site.gateway);
    expect(await deliver(apnsDevice(1))).toEqual(accepted);
    expect(await deliver(apnsDevice(2))).toEqual(accepted);
    expect(site.production.arrivals.count).toBe(1);
  });
});

describe('the provider token', () => {
  /** A half hour of the clock, and a minute. */
  const startMs = Math.floor(Date.now() / 1_800_000) * 1_800_000 + 60_000;

  it('is accepted by Apple, and renewed as rarely as Apple wants', async () => {
    await using site = await apnsSite();
    const deliver = publishBy(site.gateway);
    for (let minute = 0; minute < 150; minute++) {
      site.setNow(startMs + minute * 60_000);
      expect(await deliver(apnsDevice(minute))).toEqual(accepted);
    }
  });

  it('is retried if it was renewed while a notification was in flight', async () => {
    await using site = await apnsSite();
    site.setNow(startMs);
    await connected(site);
    site.production.script.forNext(1, apnsRefusal(403, 'ExpiredProviderToken'));
    site.production.script.latencyMs = 5;
    const outcome = publishBy(site.gateway)(apnsDevice(1));
    site.setNow(startMs + 1_800_000);
    expect(await outcome).toEqual(accepted);
    // If the newest token is refused, the clock or the key is wrong.
    site.production.script.forNext(1, apnsRefusal(403, 'ExpiredProviderToken'));
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(
      notAuthorised('ExpiredProviderToken'),
    );
  });

  it('is refused with another key, or with a wrong clock', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await using wrongKey = await apnsSite({ privateKey });
    expect(await publishBy(wrongKey.gateway)(apnsDevice(1))).toMatchObject({
      result: 'not-authorised',
      reason: 'InvalidProviderToken',
    });
    await using wrongClock = await apnsSite({ nowMs: () => Date.now() - 2 * 3600_000 });
    expect(await publishBy(wrongClock.gateway)(apnsDevice(1))).toMatchObject({
      result: 'not-authorised',
      reason: 'ExpiredProviderToken',
    });
  });

  it('causes a pause if Apple has seen too many', async () => {
    await using site = await apnsSite();
    await connected(site);
    site.production.script.forNext(2, apnsRefusal(429, 'TooManyProviderTokenUpdates'));
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(
      tryAgain('TooManyProviderTokenUpdates', 'gateway', 60_000),
    );
    expect(site.events).toContainEqual({
      event: 'connection-leaving',
      why: 'Apple asked for a new connection',
    });
  });
});

describe('a connection to Apple', () => {
  it('has one request until Apple has accepted a token, and then Apple’s limit', async () => {
    await using site = await apnsSite({}, { startsWithOne: true, streamsMax: 50 });
    const outcomes = await deliverAll(publishBy(site.gateway), apnsDevices(500));
    expect(outcomes.every(({ result }) => result === 'accepted')).toBe(true);
    const sessions = [...site.production.sessions];
    expect(sessions.length).toBeLessThanOrEqual(4);
    expect(sessions.map(({ refusals }) => refusals)).toEqual(sessions.map(() => 0));
    for (const { peakStreams } of sessions) expect(peakStreams).toBeLessThanOrEqual(50);
  });

  it('finds a limit that is not announced', async () => {
    await using site = await apnsSite({ connectionsMax: 1 });
    const session = await connected(site);
    session.enforce(20);
    site.production.script.latencyMs = 1;
    const outcomes = await deliverAll(publishBy(site.gateway), apnsDevices(500));
    expect(outcomes.every(({ result }) => result === 'accepted')).toBe(true);
    expect(site.production.arrivals.count).toBe(501);
    expect(session.refusals).toBeGreaterThan(0);
  });

  it('with GOAWAY loses nothing, and nothing arrives twice', async () => {
    await using site = await apnsSite();
    await connected(site);
    site.production.script.latencyMs = 5;
    const devices = apnsDevices(1000);
    site.production.script.forToken(apnsDevice(500).token, { act: 'go-away' }, 1);
    const outcomes = await deliverAll(publishBy(site.gateway), devices);
    expect(outcomes.every(({ result }) => result === 'accepted')).toBe(true);
    expect(site.production.arrivals.count).toBe(1001);
    expect(new Set(site.production.arrivals.list().map(({ token }) => token)).size).toBe(1001);
  });

  it('that breaks leaves outcomes open', async () => {
    await using site = await apnsSite();
    await connected(site);
    site.production.script.forToken(apnsDevice(3).token, { act: 'cut' }, 1);
    const outcomes = await deliverAll(publishBy(site.gateway), apnsDevices(10));
    for (const outcome of outcomes) {
      expect(['accepted', 'try-again']).toContain(outcome.result);
      if (outcome.result === 'try-again') {
        expect(outcome).toMatchObject({ reason: 'connection-lost', scope: 'device' });
      }
    }
    expect(await publishBy(site.gateway)(apnsDevice(3))).toEqual(accepted);
  });

  it('that resets one request leaves the others alone', async () => {
    await using site = await apnsSite();
    site.production.script.forToken(apnsDevice(3).token, { act: 'reset' });
    const outcomes = await deliverAll(publishBy(site.gateway), apnsDevices(6));
    const refused = outcomes.flatMap(({ result }, at) => (result === 'accepted' ? [] : at));
    expect(refused).toEqual([3]);
    expect(outcomes[3]).toMatchObject({ reason: 'reset', scope: 'device' });
  });

  it('with a hanging request gives that one up in time', async () => {
    await using site = await apnsSite({ requestTimeoutMs: 600 });
    site.production.script.forToken(apnsDevice(1).token, { act: 'hang' });
    const hanging = publishBy(site.gateway)(apnsDevice(1));
    const others = publishBy(site.gateway);
    let isOver = false;
    void hanging.then(() => {
      isOver = true;
    });
    while (!isOver) expect(await others(apnsDevice(2))).toEqual(accepted);
    expect(await hanging).toEqual(tryAgain('no-answer', 'device'));
    expect(site.production.sessions.size).toBe(1);
  });

  it('to a dead peer is given up, and another one opened', async () => {
    await using site = await apnsSite({ requestTimeoutMs: 500 });
    const dead = await connected(site);
    dead.freeze();
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(tryAgain('silence', 'gateway'));
    await deliverAll(publishBy(site.gateway), apnsDevices(3));
    expect(await publishBy(site.gateway)(apnsDevice(1))).toEqual(accepted);
  });

  it('cannot be made to a closed port', async () => {
    await using site = await apnsSite({ origins: { production: 'https://127.0.0.1:1' } });
    const outcomes = await deliverAll(publishBy(site.gateway), apnsDevices(3));
    expect(outcomes).toEqual(outcomes.map(() => tryAgain('unreachable', 'connection')));
    expect(site.events).toEqual([{ event: 'unreachable', why: 'ECONNREFUSED' }]);
  });

  it('is not made to an untrusted certificate', async () => {
    await using site = await apnsSite({ ca: undefined });
    expect(await publishBy(site.gateway)(apnsDevice(1))).toMatchObject({ reason: 'unreachable' });
    expect(site.production.arrivals.count).toBe(0);
  });
});
