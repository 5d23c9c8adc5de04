import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { admin, webhooksOf } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import { Inbox } from '../../../testing/inbox.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { fieldNames, startRawEndpoint } from '../../../testing/servers/raw-endpoint.ts';
import { restart } from '../../../testing/servers/restart.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
  type WebhookRequest,
} from '../../../testing/servers/webhook-endpoint.ts';
import { fanfare } from '../../cli/run-fanfare.ts';
import {
  ask,
  events,
  type Instance,
  JSON_HEADERS,
  NEIGHBOUR,
  newInstance,
  nowSeconds,
  planned,
  published,
  registered,
  registeredOf,
  startPush,
  TO_USERS,
} from './exchange.ts';

/** Webhooks of instances and of publishes. Source: push protocol, §3.8 and §4. */

const SECRET = 'geheim ✓';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ACKNOWLEDGEMENT = 'v1.UserNotificationAcknowledgement';
const OPEN = 'v1.UserNotificationOpen';

interface Webhook {
  readonly url: string;
  readonly events?: readonly string[];
  readonly secret?: string;
  readonly customData?: object;
}

const startServer = (allowPrivateAddresses = true) =>
  // The timeout is that of Channels, which webhooks of push do not have.
  startPush({ config: { webhooks: { allowPrivateAddresses, timeoutSeconds: 600 } } });

let server: Fanfare;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** An instance that has these webhooks. */
const instanceWith = (webhooks: readonly Webhook[], of: Fanfare = server) =>
  newInstance(of, {
    webhooks: webhooks.map((webhook) => ({
      events: [ACKNOWLEDGEMENT, OPEN],
      secret: SECRET,
      ...webhook,
    })),
  });

/** Sends a report that must be accepted. */
async function reports(instance: Instance, change: object, to = instance.id): Promise<void> {
  const body = { event: 'delivery', timestampSecs: nowSeconds(), ...change };
  const { status } = await ask(instance, 'POST', events(to), { headers: JSON_HEADERS, body });
  expect(status).toBe(200);
}

/** Publishes to users who have this many devices. */
async function toUsers(instance: Instance, devices: number, users = ['ann']): Promise<string> {
  const id = await published(instance, { ...TO_USERS, users });
  await planned(instance, id, devices);
  return id;
}

const signatureOf = ({ body }: WebhookRequest, secret = SECRET) =>
  createHmac('sha1', secret).update(Buffer.from(body)).digest('hex');

/** Waits for the next request, and reads it. */
async function next({ requests }: WebhookEndpoint) {
  const request = await requests.next();
  const { payload, metadata, custom_data } = JSON.parse(request.body);
  return { request, payload, metadata, customData: custom_data };
}

describe.concurrent('a report of a device with a user', () => {
  it('is sent to the webhooks that want it, in the format of the hosted service', async () => {
    using backend = startWebhookEndpoint();
    const customData = { tenant: 'zoë', list: [1, null] };
    const instance = await instanceWith([{ url: backend.url, customData }]);
    const deviceId = await registeredOf(instance, 'ann');
    const publishId = await toUsers(instance, 1);
    const before = Math.floor(Date.now() / 1000) * 1000;
    for (const [event, type] of [
      ['delivery', ACKNOWLEDGEMENT],
      ['Open', OPEN],
    ]) {
      await reports(instance, { event, publishId, deviceId, userId: 'ann' });
      const { request, payload, metadata, ...rest } = await next(backend);
      expect(request.method).toBe('POST');
      expect(request.headers).toMatchObject({
        'content-type': 'application/json',
        'user-agent': 'pusher-webhooks',
        'webhook-event-type': type,
        'webhook-id-uuid': expect.stringMatching(UUID),
        'webhook-request-id-uuid': expect.stringMatching(UUID),
        'webhook-signature': signatureOf(request),
        'content-length': String(Buffer.byteLength(request.body)),
      });
      expect(payload).toEqual({
        instance_id: instance.id,
        publish_id: publishId,
        user_id: 'ann',
      });
      expect(metadata).toEqual({
        created_at: expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+0000$/),
        event_type: type,
        event_id: expect.stringMatching(UUID),
        product: 'beams',
      });
      expect(Date.parse(metadata.created_at)).toBeWithin(before, Date.now() + 1);
      expect(rest.customData).toEqual(customData);
    }
  });

  it('has header fields with the names of the documentation, to the letter', async () => {
    using backend = startRawEndpoint();
    const instance = await instanceWith([{ url: backend.url }]);
    const deviceId = await registeredOf(instance, 'ann');
    await reports(instance, { publishId: await toUsers(instance, 1), deviceId });
    expect(fieldNames(await backend.heads.next())).toEqual([
      'Accept',
      'Connection',
      'Content-Length',
      'Content-Type',
      'Host',
      'User-Agent',
      'Webhook-Event-Type',
      'Webhook-ID-UUID',
      'Webhook-Request-ID-UUID',
      'Webhook-Signature',
    ]);
  });

  it('is sent once, and each webhook has a stable id', async () => {
    using backend = startWebhookEndpoint();
    const { url } = backend;
    await using first = await startServer();
    const instance = await instanceWith(
      [
        { url, events: [OPEN] },
        { url, events: [ACKNOWLEDGEMENT, OPEN], secret: 'another' },
      ],
      first,
    );
    const deviceId = await registeredOf(instance, 'ann');
    const publishId = await toUsers(instance, 1);
    for (let times = 0; times < 3; times++) await reports(instance, { publishId, deviceId });
    const { request: before } = await next(backend);
    expect(before.headers['webhook-signature']).toBe(signatureOf(before, 'another'));

    await using second = await restart(first);
    await reports(
      { ...instance, pushPort: second.pushPort },
      { publishId, deviceId, event: 'open' },
    );
    const both = [await next(backend), await next(backend)];
    const [theirs] = both.filter(
      ({ request }) => request.headers['webhook-signature'] === signatureOf(request, 'another'),
    );
    expect(theirs?.request.headers['webhook-id-uuid']).toBe(
      before.headers['webhook-id-uuid'] ?? '',
    );
    expect(new Set(both.map(({ request }) => request.headers['webhook-id-uuid'])).size).toBe(2);
    expect(new Set(both.map(({ metadata }) => metadata.event_id)).size).toBe(1);
    expect(backend.asked()).toBe(3);
  });

  it('is sent only if the device belongs to the named user', async () => {
    using backend = startWebhookEndpoint();
    const instance = await instanceWith([{ url: backend.url }]);
    const ofAnn = await registeredOf(instance, 'ann');
    const ofBob = await registeredOf(instance, 'bob');
    const publishId = await toUsers(instance, 2, ['ann', 'bob']);
    const ofNobody = await registered(instance);
    const theirs = await registered(instance, 'fcm', {}, NEIGHBOUR.id);
    await reports(instance, { publishId, deviceId: ofAnn, userId: 'bob' });
    await reports(instance, { publishId, deviceId: ofNobody, userId: 'ann' });
    await reports(instance, { publishId, deviceId: ofNobody, event: 'open' });
    await reports(instance, { publishId, deviceId: theirs, userId: 'ann' });
    await reports(instance, { publishId: 'pubid-unknown', deviceId: ofAnn, userId: 'ann' });
    await reports(instance, { publishId, deviceId: ofAnn, userId: 'ann' }, NEIGHBOUR.id);
    await reports(instance, { publishId, deviceId: ofBob, userId: null });
    // An event of an earlier report would have come before it.
    expect((await next(backend)).payload.user_id).toBe('bob');
    expect(backend.asked()).toBe(1);
  });
});

describe.concurrent('the course of a publish', () => {
  it('is sent in order, also after a crash: its end waits for its start, and other publishes do not', async () => {
    using backend = startWebhookEndpoint([500]);
    await using first = await startServer();
    const instance = await instanceWith([], first);
    const body = { interests: ['nobody'], web: { data: {} }, webhookUrl: backend.url };
    const slow = await published(instance, body);
    const nextState = async () => {
      const { publishId, status } = JSON.parse((await backend.requests.next()).body);
      return [publishId, status];
    };
    expect(await nextState()).toEqual([slow, 'STARTED']);
    await first.logged(/Webhook attempted.*"outcome":"refused"/);

    const quick = await published(instance, body);
    expect(await nextState()).toEqual([quick, 'STARTED']);
    expect(await nextState()).toEqual([quick, 'FINISHED']);
    await webhooksOf(first, `instance=${instance.id}&state=waiting`, 2);

    await using second = await restart(first, 'SIGKILL');
    expect(await nextState()).toEqual([slow, 'STARTED']);
    expect(await nextState()).toEqual([slow, 'FINISHED']);
    await webhooksOf(second, `instance=${instance.id}&state=waiting`, 0);
  }, 180_000);

  it('is sent to its webhookUrl, with the user name and password of the URL', async () => {
    using backend = startWebhookEndpoint();
    const instance = await instanceWith([]);
    const webhookUrl = `${backend.url.replace('//', '//ann:geheim@')}?a=b`;
    const body = { interests: ['nobody'], webhookUrl, web: { data: { n: 1 } }, fcm: {} };
    const publishId = await published(instance, body);
    const requests = [await backend.requests.next(), await backend.requests.next()];
    for (const request of requests) {
      expect(request.path).toBe('/webhooks');
      expect(request.headers['authorization']).toBe(`Basic ${btoa('ann:geheim')}`);
    }
    const none = { numSuccessfulPublishes: 0, numFailedPublishes: 0 };
    const bodies = requests.map((request) => JSON.parse(request.body));
    expect(bodies).toEqual([
      { publishId, status: 'STARTED', requestBody: body },
      { publishId, status: 'FINISHED', requestBody: body, results: { fcm: none, web: none } },
    ]);
    await logOf(server, `instance=${instance.id}&state=delivered`);
    const { text } = await admin(server, 'GET', '/webhooks');
    expect(text).toContain(`${backend.url}?a=***`);
    expect([text, server.output.stderr].join()).not.toContain('geheim');
  });

  it('to users is sent to the webhooks of the instance when it is finished', async () => {
    using backend = startWebhookEndpoint();
    const type = 'v1.PublishToUsersAttempt';
    const instance = await instanceWith([{ url: backend.url, events: [type] }]);
    const publishId = await published(instance, { ...TO_USERS, users: ['ann', 'bob'] });
    const { request, payload } = await next(backend);
    expect(request.headers).toMatchObject({
      'webhook-event-type': type,
      'webhook-signature': signatureOf(request),
    });
    expect(payload).toEqual({
      instance_id: instance.id,
      publish_id: publishId,
      users_delivered_to_gateway: [],
      users_no_devices: ['ann', 'bob'],
      users_gateway_failed: [],
    });
  });
});

describe.concurrent('a webhook of an instance', () => {
  it('has 3 seconds to answer, and the commands show it', async () => {
    const asked = new Inbox<string>('the endpoint');
    const endings = new AbortController();
    await using http = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        asked.put(await request.text());
        if (!endings.signal.aborted) {
          await new Promise((resolve) => endings.signal.addEventListener('abort', resolve));
        }
        return new Response('late');
      },
    });
    const instance = await instanceWith([{ url: `http://127.0.0.1:${http.port}/hook` }]);
    const deviceId = await registeredOf(instance, 'ann');
    await reports(instance, { publishId: await toUsers(instance, 1), deviceId });
    await asked.next();
    await server.logged(/Webhook attempted.*"outcome":"timeout"/);
    endings.abort();

    const listed = await logOf(server, `instance=${instance.id}`);
    expect(listed).toMatchObject([
      { kind: 'push', app: null, instance: instance.id, state: 'waiting', attempts: 1 },
    ]);
    const [{ id = '' } = {}] = listed;
    const { json } = await admin(server, 'GET', `/webhooks/${id}`);
    const { attemptLog } = json as { attemptLog: { durationMs: number }[] };
    expect(attemptLog).toMatchObject([{ number: 1, outcome: 'timeout', status: null }]);
    expect(attemptLog[0]?.durationMs).toBeWithin(2_990, 60_000);

    const command = (...args: readonly string[]) =>
      fanfare(server.directory, [
        'webhooks',
        ...args,
        '--config',
        join(server.directory, 'config.json'),
        '--url',
        `http://127.0.0.1:${server.adminPort}`,
      ]);
    const list = await command('list', '--instance', instance.id.toUpperCase());
    expect(list.stdout).toContain(
      `waiting    instance ${instance.id}  1×  v1.UserNotificationAcknowledgement  http://127.0.0.1`,
    );
    expect((await command('list', '--app', instance.id)).stdout).toContain('no such webhook');
    const shown = await command('show', id);
    expect(shown.stdout).toContain(`Webhook ${id} of instance ${instance.id}: waiting`);
    expect(shown.stdout).toContain(ACKNOWLEDGEMENT);
    expect(await command('replay', id)).toMatchObject({ exitCode: 1 });
  });

  it('is not sent to a private address unless that is allowed, and is kept to be replayed', async () => {
    using backend = startWebhookEndpoint();
    await using strict = await startServer(false);
    const instance = await instanceWith([{ url: backend.url }], strict);
    const deviceId = await registeredOf(instance, 'ann');
    await reports(instance, { publishId: await toUsers(instance, 1), deviceId });
    const line = JSON.parse(await strict.logged(/Webhook failed/));
    expect(line).toMatchObject({
      level: 'warn',
      instance: instance.id,
      reason: expect.stringMatching(/^Not allowed: .*; webhooks\.allowPrivateAddresses allows it$/),
    });
    expect(backend.asked()).toBe(0);
    await strict.stop();
    const inStore = (...args: readonly string[]) =>
      fanfare(strict.directory, ['webhooks', ...args, '--config', 'config.json', '--json']);
    const { stdout } = await inStore('list', '--state', 'failed', '--instance', instance.id);
    const [failed] = JSON.parse(stdout);
    expect(failed).toMatchObject({ instance: instance.id, reason: line.reason });
    expect(await inStore('replay', failed.id)).toMatchObject({ exitCode: 0 });
  });
});

interface Listed {
  readonly id?: string;
  readonly state: string;
}

/** The log for a query, once it has the first attempt, which is written a moment after it ended. */
async function logOf(server: Fanfare, query: string): Promise<readonly Listed[]> {
  const list = async () => {
    const { json } = await admin(server, 'GET', `/webhooks?${query}`);
    return (json as { webhooks: (Listed & { attempts: number })[] }).webhooks;
  };
  return await eventually(list, (webhooks) => webhooks.some(({ attempts }) => attempts > 0));
}
