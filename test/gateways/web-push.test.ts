import { afterEach, describe, expect, it } from 'bun:test';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import {
  type FakeWebPush,
  type FakeWebPushOptions,
  startFakeWebPush,
} from '../../src/fake-gateways/web/fake-web-push.ts';
import {
  accepted,
  notAuthorised,
  refused,
  tokenGone,
  tryAgain,
} from '../../src/gateways/outcomes.ts';
import { PushServices, type PushServicesOptions } from '../../src/gateways/web/push-services.ts';
import { WebGateway } from '../../src/gateways/web/web-gateway.ts';
import { createGuardedLookup } from '../../src/outgoing/address-guard.ts';
import { a, b } from '../../src/outgoing/certificates.fixture.ts';
import { createSendRequest } from '../../src/outgoing/request.ts';
import { resolverBy } from '../../src/outgoing/resolver.fixture.ts';
import type { Gateway, Notification, Outcome } from '../../src/push/gateway.ts';
import type { Recipient } from '../../src/push/model/device.ts';
import { webPayload } from '../../src/push/payloads/web.fixture.ts';
import type { WebPayload } from '../../src/push/payloads/web.ts';
import { readWebToken } from '../../src/push/requests/web-subscription.ts';
import { notificationOf, recipientOf } from './deliveries.ts';

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

const HOST = 'a.example.test';
const vapidPair = newP256Pair();
const vapidKey = vapidPair.publicText;

function startService(options: FakeWebPushOptions = { certificate: a, host: HOST }): FakeWebPush {
  return stops.use(startFakeWebPush(options));
}

interface WayOptions extends Partial<PushServicesOptions> {
  readonly allowPrivateAddresses?: boolean;
  readonly allowedHosts?: readonly string[];
  readonly lookup?: (host: string) => Promise<readonly string[]>;
  readonly nowMs?: () => number;
  readonly declarative?: boolean;
}

/** The gateway of one instance, wired as in the server. */
function openGateway({
  allowPrivateAddresses = true,
  allowedHosts = ['*.example.test', 'localhost'],
  lookup = async () => ['127.0.0.1'],
  nowMs = Date.now,
  declarative = false,
  ...more
}: WayOptions = {}): Gateway<'web'> {
  const guard = { allowPrivateAddresses, resolver: resolverBy(lookup) };
  const ca = `${a.cert}\n${b.cert}`;
  const send = createSendRequest({ ...guard, ca });
  const services = new PushServices({
    findAddresses: createGuardedLookup(guard, () => 'test'),
    sendOverHttp1: (request) => send({ ...request, owner: 'test' }),
    ca,
    ...more,
  });
  stops.use(services);
  return new WebGateway({
    vapid: {
      publicKey: vapidKey,
      privateKey: vapidPair.privateText,
      subject: 'mailto:ops@example.test',
    },
    rules: { allowedHosts, allowPrivateAddresses },
    services,
    declarative,
    nowMs,
  });
}

function notification(more: Partial<WebPayload> = {}): Notification<WebPayload> {
  return notificationOf(webPayload({ notification: { title: 'Hi!' }, data: { a: 1 }, ...more }));
}

/** A registered device at any push service. */
function deviceOf(subscription: string): Recipient {
  const url = JSON.parse(Buffer.from(subscription, 'base64').toString()).endpoint;
  const rules = { allowedHosts: [new URL(url).host], allowPrivateAddresses: true };
  const registered = readWebToken(subscription, rules);
  if (!('token' in registered)) throw new Error(registered.description);
  return recipientOf('web', 1, registered.token);
}

const subscribe = (service: FakeWebPush) => service.subscribe(vapidKey);

const deliverTo = (gateway: Gateway<'web'>, service: FakeWebPush): Promise<Outcome> =>
  gateway.prepare(notification())(deviceOf(subscribe(service).token));

const kinds: readonly (readonly [string, FakeWebPushOptions])[] = [
  ['HTTP/2', { certificate: a, host: HOST }],
  ['HTTP/1.1 with TLS', { certificate: a, host: HOST, http2: false }],
  ['HTTP/1.1 without TLS', { host: HOST, http2: false }],
];

describe.each(kinds)('a push service over %s', (_name, options) => {
  it('gets a message that the browser can read, with a valid VAPID token', async () => {
    const service = startService(options);
    const publish = notification();
    const { token, endpoint } = subscribe(service);

    expect(await openGateway().prepare(publish)(deviceOf(token))).toEqual(accepted);

    const [message] = service.arrivals.list();
    expect(JSON.parse(message?.text ?? '')).toEqual({
      notification: { title: 'Hi!' },
      data: {
        a: 1,
        pusher: {
          instanceId: publish.instanceId,
          publishId: publish.publishId,
          hasDisplayableContent: true,
          hasData: true,
        },
      },
    });
    expect(message).toMatchObject({ endpoint, status: 201, fault: undefined });
    expect(message?.headers.get('urgency')).toBe('normal');
    expect(message?.headers.get('ttl')).toBe('3600');
    expect(message?.headers.get('host')).toBe(new URL(service.origin).host);
  });

  it('answers with the outcome of a message', async () => {
    const service = startService(options);
    const gateway = openGateway();
    const { token, endpoint } = subscribe(service);
    const stranger = service.subscribe(newP256Pair().publicText).token;
    const deliver = gateway.prepare(notification());

    const { script } = service;
    script.forNext(1, { act: 'answer', status: 429, fields: { 'retry-after': '30' } });
    script.forNext(1, { act: 'answer', status: 413, body: 'Too large' });
    script.forNext(1, { act: 'answer', status: 503 });
    expect(await deliver(deviceOf(token))).toEqual(tryAgain('http-429', 'device', 30_000));
    expect(await deliver(deviceOf(token))).toEqual(refused('http-413', 'Too large'));
    expect(await deliver(deviceOf(token))).toEqual(tryAgain('http-503', 'gateway'));
    expect(await deliver(deviceOf(stranger))).toEqual(
      notAuthorised('errno-109', 'another key than that of the subscription'),
    );
    service.unsubscribe(endpoint);
    expect(await deliver(deviceOf(token))).toEqual(tokenGone('errno-106'));
  });

  it('may reset a request, or never answer', async () => {
    const service = startService(options);
    const gateway = openGateway({ timeoutMs: 500 });
    expect(await deliverTo(gateway, service)).toEqual(accepted);
    service.script.forNext(1, { act: 'reset' });
    service.script.forNext(1, { act: 'hang' });
    for (const reason of [/^(reset|connection-lost)$/, /^(no-answer|silence)$/]) {
      const outcome = await deliverTo(gateway, service);
      expect(outcome).toMatchObject({ result: 'try-again' });
      expect('reason' in outcome && outcome.reason).toMatch(reason);
    }
  });

  it('does not delay a stop of the server', async () => {
    const service = startService(options);
    const gateway = openGateway();
    service.script.forNext(1, { act: 'hang' });
    const underWay = deliverTo(gateway, service);
    await service.arrivals.reaches(1);
    await stops.disposeAsync();
    stops = new AsyncDisposableStack();
    const outcome = await underWay;
    expect('reason' in outcome && outcome.reason).toMatch(/^(closed|connection-lost)$/);
  });

  it('causes no request when it redirects', async () => {
    const service = startService(options);
    const other = startService(options);
    const location = subscribe(other).endpoint;
    service.script.forNext(1, { act: 'answer', status: 307, fields: { location } });

    expect(await deliverTo(openGateway(), service)).toEqual(refused('http-307'));
    expect(other.arrivals.list()).toEqual([]);
  });

  it('may answer with megabytes, of which 4 KiB are kept', async () => {
    const service = startService(options);
    const gateway = openGateway();
    const body = 'No way! '.repeat(1_000_000);
    service.script.forNext(1, { act: 'answer', status: 400, body });

    const outcome = await deliverTo(gateway, service);
    expect(outcome).toMatchObject({ result: 'refused', reason: 'http-400' });
    expect('words' in outcome && outcome.words).toStartWith('No way! No way!');
    expect('words' in outcome && outcome.words).toHaveLength(200);
    expect(await deliverTo(gateway, service)).toEqual(accepted);
  });

  it('is reached by the next address if one refuses', async () => {
    const service = startService(options);
    const gateway = openGateway({ lookup: async () => ['::1', '127.0.0.2', '127.0.0.1'] });
    expect(await deliverTo(gateway, service)).toEqual(accepted);
  });

  it('gets many messages at once, each for its own browser', async () => {
    const service = startService(options);
    const gateway = openGateway();
    const deliver = gateway.prepare(notification());
    const browsers = Array.from({ length: 200 }, () => subscribe(service));
    const outcomes = await Promise.all(browsers.map(({ token }) => deliver(deviceOf(token))));
    expect(outcomes).toEqual(browsers.map(() => accepted));
    for (const { endpoint } of browsers) expect(service.collect(endpoint)).toHaveLength(1);
  });
});

describe('a publish with an urgency, a topic and a number for the icon', () => {
  const publish = { urgency: 'high', topic: 'chat-7', appBadge: 3 } as const;

  it('says them to each push service', async () => {
    const service = startService();
    const deliver = openGateway().prepare(notification(publish));
    expect(await deliver(deviceOf(subscribe(service).token))).toEqual(accepted);
    const [message] = service.arrivals.list();
    expect(message?.headers.get('urgency')).toBe('high');
    expect(message?.headers.get('topic')).toBe('chat-7');
    expect(JSON.parse(message?.text ?? '')).toMatchObject({ app_badge: 3 });
  });

  it('replaces a message with its topic that waits for an offline browser', async () => {
    const service = startService();
    const gateway = openGateway();
    const { token, endpoint } = subscribe(service);
    for (const n of [1, 2]) {
      const deliver = gateway.prepare(notification({ ...publish, data: { n } }));
      expect(await deliver(deviceOf(token))).toEqual(accepted);
    }
    const texts = service.collect(endpoint);
    expect(texts).toHaveLength(1);
    expect(texts[0]).toContain('"n":2');
  });
});

describe('the push service of Apple', () => {
  const host = 'web.push.apple.com';
  const declarative = expect.objectContaining({ web_push: 8030, mutable: true });

  it('gets a form that Safari can show by itself, if the instance or the publish says so', async () => {
    for (const [instance, publish, isDeclarative] of [
      [false, undefined, false],
      [false, true, true],
      [true, undefined, true],
      [true, false, false],
    ] as const) {
      const [apple, other] = [host, HOST].map((host) => startService({ host, http2: false }));
      if (apple === undefined || other === undefined) throw new Error('Not started');
      const gateway = openGateway({
        allowedHosts: [apple, other].map(({ origin }) => new URL(origin).host),
        declarative: instance,
      });
      const deliver = gateway.prepare(notification({ declarative: publish }));
      for (const service of [apple, other]) {
        expect(await deliver(deviceOf(subscribe(service).token))).toEqual(accepted);
      }
      const [toApple, toOther] = [apple, other].map(({ arrivals }) =>
        JSON.parse(arrivals.list()[0]?.text ?? ''),
      );
      expect(toOther).not.toHaveProperty('web_push');
      if (!isDeclarative) expect(toApple).toEqual(toOther);
      else expect(toApple).toEqual(declarative);
    }
  });

  it('gets the other form if the declarative one would be too large', async () => {
    const service = startService({ host, http2: false });
    const allowedHosts = [new URL(service.origin).host];
    const gateway = openGateway({ allowedHosts, declarative: true });
    const deliver = gateway.prepare(notification({ data: { a: 'x'.repeat(2_500) } }));
    expect(await deliver(deviceOf(subscribe(service).token))).toEqual(accepted);
    expect(JSON.parse(service.arrivals.list()[0]?.text ?? '')).not.toHaveProperty('web_push');
  });
});

describe('the push service of Windows', () => {
  const host = 'db5.notify.windows.com';

  it('is told whether a message may wait', async () => {
    const service = startService({ host, http2: false });
    const gateway = openGateway({ allowedHosts: [new URL(service.origin).host] });
    for (const timeToLiveSeconds of [0, 60]) {
      const deliver = gateway.prepare(notification({ timeToLiveSeconds }));
      expect(await deliver(deviceOf(subscribe(service).token))).toEqual(accepted);
    }
    const policies = service.arrivals.list().map((one) => one.headers.get('x-wns-cache-policy'));
    expect(policies).toEqual(['no-cache', 'cache']);
  });

  it('explains a refusal in the header, and its words are kept', async () => {
    const service = startService({ host, http2: false });
    const gateway = openGateway({ allowedHosts: [new URL(service.origin).host] });
    service.script.forNext(1, {
      act: 'answer',
      status: 400,
      fields: {
        'x-wns-error-description': 'Ttl value conflicts with X-WNS-Cache-Policy.',
        'x-wns-status': 'dropped',
      },
    });
    expect(await deliverTo(gateway, service)).toEqual(
      refused('http-400', 'Ttl value conflicts with X-WNS-Cache-Policy., status dropped'),
    );
  });
});

describe('an offline browser', () => {
  it('is shown every publish, and a duplicate once', async () => {
    const service = startService();
    const gateway = openGateway();
    const { token, endpoint } = subscribe(service);
    const deliver = gateway.prepare(notification());
    await deliver(deviceOf(token));
    await deliver(deviceOf(token));
    await gateway.prepare(notification({ data: { another: true } }))(deviceOf(token));

    const texts = service.collect(endpoint);
    expect(texts).toHaveLength(2);
    expect(texts[1]).toContain('another');
  });

  it('is not shown an expired message, counted from the publish', async () => {
    let nowMs = Date.now();
    const service = startService({ certificate: a, host: HOST, nowMs: () => nowMs });
    const gateway = openGateway({ nowMs: () => nowMs });
    const { token, endpoint } = subscribe(service);
    const deliver = gateway.prepare({
      ...notification({ timeToLiveSeconds: 60 }),
      acceptedAtMs: nowMs,
    });
    nowMs += 50_000;
    await deliver(deviceOf(token));
    expect(service.arrivals.list()[0]?.headers.get('ttl')).toBe('10');
    nowMs += 10_000;
    expect(service.collect(endpoint)).toEqual([]);
  });
});

describe('the guard', () => {
  it('refuses a private address even if the host is allowed', async () => {
    for (const options of [
      { certificate: a, host: HOST },
      { certificate: a, host: HOST, http2: false },
    ]) {
      const service = startService({ ...options, port: 0 });
      const port = new URL(service.origin).port;
      const gateway = openGateway({
        allowPrivateAddresses: false,
        allowedHosts: [`${HOST}:${port}`],
      });
      expect(await deliverTo(gateway, service)).toEqual(
        refused('address-not-allowed', '127.0.0.1 is not a public address (loopback)'),
      );
      expect(service.arrivals.list()).toEqual([]);
    }
  });

  it('checks the address of each connection', async () => {
    const service = startService();
    let connectionsAllowed = 1;
    const asked: string[] = [];
    // The name resolves to another address after the first connection.
    const gateway = openGateway({
      timeoutMs: 5_000,
      async findAddresses(host) {
        asked.push(host);
        return connectionsAllowed-- > 0
          ? { ok: true, addresses: ['127.0.0.1'] }
          : { ok: false, allowed: false, why: '127.0.0.1 is not a public address (loopback)' };
      },
    });
    expect(await deliverTo(gateway, service)).toEqual(accepted);
    expect(await deliverTo(gateway, service)).toEqual(accepted);
    expect(asked).toEqual([HOST]);

    const { port } = new URL(service.origin);
    const device = deviceOf(subscribe(service).token);
    await service[Symbol.asyncDispose]();
    const again = startService({ certificate: a, host: HOST, port: Number(port) });
    // The first request may still meet the old connection.
    const deliver = gateway.prepare(notification());
    let outcome = await deliver(device);
    while (outcome.result === 'try-again') outcome = await deliver(device);
    expect(outcome).toMatchObject({ result: 'refused', reason: 'address-not-allowed' });
    expect(again.arrivals.list()).toEqual([]);
  });

  it('connects to the address that it looked up', async () => {
    const service = startService();
    let asked = 0;
    const gateway = openGateway({
      // No other resolver knows this name.
      lookup: async () => (asked++ === 0 ? ['127.0.0.1'] : ['192.0.2.1']),
    });
    expect(await deliverTo(gateway, service)).toEqual(accepted);
    expect(asked).toBe(1);
  });

  it('refuses a host that is not allowed any more, without a lookup', async () => {
    const service = startService();
    const asked: string[] = [];
    const gateway = openGateway({
      allowedHosts: ['other.example.test'],
      async lookup(host) {
        asked.push(host);
        return ['127.0.0.1'];
      },
    });
    expect(await deliverTo(gateway, service)).toEqual(refused('host-not-allowed'));
    expect(asked).toEqual([]);
  });

  it('refuses to send without TLS, unless private addresses are allowed', async () => {
    const service = startService({ host: HOST });
    const { port } = new URL(service.origin);
    const gateway = openGateway({
      allowPrivateAddresses: false,
      allowedHosts: [HOST, `${HOST}:${port}`],
    });
    expect(await deliverTo(gateway, service)).toMatchObject({ reason: 'host-not-allowed' });
    expect(service.arrivals.list()).toEqual([]);
  });

  it('refuses a certificate of another name', async () => {
    const service = startService({ certificate: b, host: HOST });
    const outcome = await deliverTo(openGateway({ timeoutMs: 2_000 }), service);
    expect(outcome).toEqual(tryAgain('unreachable', 'connection'));
    expect(service.arrivals.list()).toEqual([]);
  });
});

describe('a push service that is in trouble', () => {
  it('may be unreachable: the message is tried again', async () => {
    const service = startService();
    const device = deviceOf(subscribe(service).token);
    await service[Symbol.asyncDispose]();
    expect(await openGateway().prepare(notification())(device)).toEqual(
      tryAgain('unreachable', 'connection'),
    );
  });

  it('may have an unknown name: the message is tried again', async () => {
    const service = startService();
    const gateway = openGateway({
      async lookup() {
        throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
      },
    });
    expect(await deliverTo(gateway, service)).toEqual(tryAgain('unreachable', 'connection'));
  });
});

describe('the connections to push services', () => {
  it.each([
    ['HTTP/2', true, 2],
    ['HTTP/1.1', false, 1],
  ])('that are not named have few requests in flight over %s', async (_, http2, most) => {
    const service = startService({ certificate: a, host: HOST, http2 });
    service.script.forNext(10, { act: 'hang' });
    const send = (allowedHosts: readonly string[]) => {
      const gateway = openGateway({ allowedHosts });
      return Array.from({ length: 5 }, () => deliverTo(gateway, service));
    };
    const ofOpen = send(['*']);
    await service.arrivals.reaches(most);
    // With its name in the settings it has as many as others.
    const ofNamed = send(['*', HOST]);
    await service.arrivals.reaches(most + 5);
    expect(service.arrivals.list()).toHaveLength(most + 5);
    await stops.disposeAsync();
    stops = new AsyncDisposableStack();
    for (const outcome of await Promise.all([...ofOpen, ...ofNamed])) {
      expect(outcome).toMatchObject({ result: 'try-again' });
    }
  });

  it('are kept to a limited number of services: the least recently used is closed', async () => {
    const services = ['a', 'b'].map((name) =>
      startService({ certificate: name === 'a' ? a : b, host: `${name}.example.test` }),
    );
    const asked: string[] = [];
    const gateway = openGateway({
      servicesMax: 1,
      async lookup(host) {
        asked.push(host);
        return ['127.0.0.1'];
      },
    });
    for (const service of [...services, ...services]) {
      expect(await deliverTo(gateway, service)).toEqual(accepted);
    }
    expect(asked).toEqual(['a', 'b', 'a', 'b'].map((name) => `${name}.example.test`));
  });

  it('are not closed while in use: the message is tried again', async () => {
    const busy = startService();
    const other = startService({ certificate: b, host: 'b.example.test' });
    const gateway = openGateway({ servicesMax: 1, timeoutMs: 500 });
    busy.script.forNext(1, { act: 'hang' });
    const underWay = deliverTo(gateway, busy);
    await busy.arrivals.reaches(1);
    expect(await deliverTo(gateway, other)).toEqual(tryAgain('too-many-origins', 'device'));
    expect(await underWay).toMatchObject({ result: 'try-again' });
    expect(await deliverTo(gateway, other)).toEqual(accepted);
  });
});

describe('push services that have accepted nothing yet', () => {
  it('leave room for others', async () => {
    const busy = ['a', 'b'].map((name) =>
      startService({ certificate: name === 'a' ? a : b, host: `${name}.example.test` }),
    );
    const third = startService();
    const gateway = openGateway({ servicesMax: 3, timeoutMs: 1_000 });
    const deliver = (service: FakeWebPush, isTrusted: boolean) =>
      gateway.prepare(notification())({
        ...deviceOf(subscribe(service).token),
        isTrusted,
      });
    for (const service of busy) service.script.forNext(1, { act: 'hang' });
    const underWay = busy.map((service) => deliver(service, false));
    await Promise.all(busy.map((service) => service.arrivals.reaches(1)));
    // Devices that were never accepted use two of three origins: another such device must wait, an accepted one need not.
    expect(await deliver(third, false)).toEqual(tryAgain('too-many-origins', 'device'));
    expect(await deliver(third, true)).toEqual(accepted);
    await Promise.all(underWay);
  });
});

describe('push services of one domain that never answer', () => {
  it('make room for one of another domain, and their messages are tried again', async () => {
    const at = (host: string) => startService({ host, http2: false });
    const silent = ['a.example.test', 'b.example.test'].map(at);
    const alike = at('c.example.test');
    const other = at('push.other.test');
    const allowedHosts = ['*.example.test', '*.other.test'];
    const gateway = openGateway({ allowedHosts, servicesMax: 4, timeoutMs: 1_500 });
    const deliver = (service: FakeWebPush) =>
      gateway.prepare(notification())({
        ...deviceOf(subscribe(service).token),
        isTrusted: false,
      });
    for (const service of silent) service.script.forNext(1, { act: 'hang' });
    const [first, second] = silent.map(deliver);
    await Promise.all(silent.map((service) => service.arrivals.reaches(1)));

    expect(await deliver(alike)).toEqual(tryAgain('too-many-origins', 'device'));
    expect(await deliver(other)).toEqual(accepted);
    // The oldest.
    expect(await first).toEqual(tryAgain('too-many-origins', 'device'));
    expect(await second).toMatchObject({ result: 'try-again', reason: 'no-answer' });
  });
});

describe('the token of a device', () => {
  it('is refused if it or its key is malformed', async () => {
    const service = startService();
    const device = deviceOf(subscribe(service).token);
    const deliver = openGateway().prepare(notification());
    expect(await deliver({ ...device, token: 'nothing' })).toMatchObject({
      reason: 'bad-subscription',
    });
    const p256dh = Buffer.alloc(65, 4).toString('base64url');
    const token = JSON.stringify({
      endpoint: subscribe(service).endpoint,
      keys: { p256dh, auth: Buffer.alloc(16).toString('base64url') },
    });
    expect(await deliver({ ...device, token })).toMatchObject({ reason: 'bad-keys' });
  });
});
