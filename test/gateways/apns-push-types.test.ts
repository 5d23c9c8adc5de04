import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReceivedNotification } from '../../src/fake-gateways/received.ts';
import { type FakeGateways, startFakeGateways } from '../../src/fake-gateways/start.ts';
import { tokenKinds } from '../../src/push/model/token-kind.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { ask, device, INSTANCE, publish, startPush } from '../protocol/push/exchange.ts';

/** What reaches Apple of each push type, with a fake that refuses what Apple refuses. */

const BUNDLE = 'com.example.app';

const parts = new AsyncDisposableStack();
const received: ReceivedNotification[] = [];
let folder: string;
let gateways: FakeGateways;
let server: Fanfare;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fanfare-push-types-'));
  gateways = await startFakeGateways({
    host: '127.0.0.1',
    ports: { control: 0, apns: 0, fcm: 0, web: 0 },
    directory: folder,
    onReceived: (one) => received.push(one),
  });
  parts.use(gateways);
  server = await startPush({ instance: { apns: gateways.settings.apns } });
  parts.use(server);
});
afterAll(async () => {
  await parts.disposeAsync();
  rmSync(folder, { recursive: true, force: true });
});

let made = 0;
const newToken = () => (++made).toString(16).padStart(64, '0');
const newInterest = () => `interest-${++made}`;

/** Registers a token, and returns it with the id of its device. */
async function register(fields: Readonly<Record<string, unknown>>) {
  const token = newToken();
  const body = { token, bundleIdentifier: BUNDLE, ...fields };
  const { status, json } = await ask(server, 'POST', device('apns'), { body });
  expect(status).toBe(200);
  return { token, id: (json as { id: string }).id };
}

interface Status {
  readonly state: string;
  readonly platforms: { readonly apns: Readonly<Record<string, number>> };
  readonly delivered: number;
}

async function send(interest: string, apns: object, more: object = {}): Promise<string> {
  const body = { interests: [interest], apns, ...more };
  const { json, status, text } = await publish(server, '/interests', body);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return (json as { publishId: string }).publishId;
}

/** Publishes, and returns what arrived at Apple when it is finished. */
async function arrivals(interest: string, apns: object, more: object = {}) {
  const from = received.length;
  const id = await send(interest, apns, more);
  const status = await finished(id);
  return { id, status, arrived: received.slice(from).filter(({ gateway }) => gateway === 'apns') };
}

const finished = (id: string) =>
  eventually(
    async () => {
      const path = `/publish_api/v1/instances/${INSTANCE.id}/publishes/${id}`;
      const { json } = await ask(server, 'GET', path, { headers: SECRET });
      return json as Status;
    },
    ({ state }) => state === 'finished',
  );

const SECRET = { authorization: `Bearer ${INSTANCE.secretKey}` };

async function script(body: object): Promise<void> {
  const { status } = await fetch(`${gateways.controlUrl}/script`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  expect(status).toBe(204);
}

const state = { 'content-state': { minutes: 7 } };
const start = { event: 'start', ...state, 'attributes-type': 'Order', attributes: { id: 4 } };
const timestamp = expect.any(Number) as unknown as number;

/** Of each kind: a publish without optional fields, and the headers and the body that Apple gets. */
const rows: readonly {
  readonly kind: string;
  readonly apns: { readonly push_type: string } & Readonly<Record<string, unknown>>;
  readonly suffix: string;
  readonly expiration?: string;
  readonly message: object;
}[] = [
  {
    kind: 'liveactivity-start',
    apns: { push_type: 'liveactivity', aps: { ...start, alert: { title: 'Cooking' } } },
    suffix: '.push-type.liveactivity',
    message: { aps: { ...start, alert: { title: 'Cooking' }, timestamp } },
  },
  {
    kind: 'liveactivity',
    apns: { push_type: 'liveactivity', aps: { event: 'update', ...state } },
    suffix: '.push-type.liveactivity',
    message: { aps: { event: 'update', ...state, timestamp } },
  },
  {
    kind: 'liveactivity',
    apns: { push_type: 'liveactivity', aps: { event: 'end', timestamp: 17 } },
    suffix: '.push-type.liveactivity',
    message: { aps: { event: 'end', timestamp: 17 } },
  },
  {
    kind: 'voip',
    apns: { push_type: 'voip', payload: { caller: 'Ann' } },
    suffix: '.voip',
    expiration: '0',
    message: { caller: 'Ann' },
  },
  {
    kind: 'pushtotalk',
    apns: { push_type: 'pushtotalk', aps: {}, payload: { speaker: 'Ann' } },
    suffix: '.voip-ptt',
    expiration: '0',
    message: { speaker: 'Ann' },
  },
  {
    kind: 'widgets',
    apns: { push_type: 'widgets' },
    suffix: '.push-type.widgets',
    message: { aps: { 'content-changed': true } },
  },
  {
    kind: 'controls',
    apns: { push_type: 'controls' },
    suffix: '.push-type.controls',
    message: { aps: { 'content-changed': true } },
  },
  {
    kind: 'complication',
    apns: { push_type: 'complication', data: { score: 3 } },
    suffix: '.complication',
    message: { data: { score: 3 } },
  },
  {
    kind: 'location',
    apns: { push_type: 'location' },
    suffix: '.location-query',
    message: { aps: {} },
  },
  {
    kind: 'fileprovider',
    apns: { push_type: 'fileprovider', payload: { 'container-identifier': 'root' } },
    suffix: '.pushkit.fileprovider',
    message: { 'container-identifier': 'root' },
  },
];

describe('a publish of a push type', () => {
  it('reaches devices of its kind only, as Apple wants it, and alerts reach none of them', async () => {
    const interests = [newInterest()];
    const [interest = ''] = interests;
    const ordinary = await register({ interests });
    const tokens = new Map<string, string>();
    for (const kind of tokenKinds) {
      const { token } = await register({ interests, kind });
      tokens.set(kind, token);
    }
    for (const { kind, apns, suffix, expiration, message } of rows) {
      const { arrived, status } = await arrivals(interest, apns);
      expect(arrived).toEqual([
        {
          gateway: 'apns',
          atMs: expect.any(Number),
          to: tokens.get(kind) ?? '',
          status: 200,
          reason: null,
          headers: {
            'apns-topic': `${BUNDLE}${suffix}`,
            'apns-push-type': apns.push_type,
            'apns-priority': '10',
            ...(expiration !== undefined && { 'apns-expiration': expiration }),
          },
          message,
        },
      ]);
      expect(status.platforms.apns).toMatchObject({ planned: 1, accepted: 1, failed: 0 });
      expect(status.delivered).toBe(0);
    }
    for (const apns of [
      { aps: { alert: 'Hi' } },
      { aps: {} },
      { push_type: 'alert', aps: { alert: 'Hi' }, priority: 1, payload: { a: 1 } },
      { push_type: 'background', aps: {}, priority: 1 },
    ]) {
      const { arrived } = await arrivals(interest, apns);
      expect(arrived.map(({ to, status }) => [to, status])).toEqual([[ordinary.token, 200]]);
    }
  });

  it('has the priority, the expiration and the collapse id of the publish, and its suffix once', async () => {
    const interest = newInterest();
    const bundleIdentifier = `${BUNDLE}.push-type.widgets`;
    const { token } = await register({ interests: [interest], kind: 'widgets', bundleIdentifier });
    const apns = { push_type: 'widgets', priority: 1, expiration: 4_000_000_000, collapse_id: 'w' };
    expect((await arrivals(interest, apns)).arrived).toMatchObject([
      {
        to: token,
        status: 200,
        headers: {
          'apns-topic': bundleIdentifier,
          'apns-priority': '1',
          'apns-expiration': '4000000000',
          'apns-collapse-id': 'w',
        },
      },
    ]);
  });

  it('takes up to 5,120 bytes to a phone that is to ring', async () => {
    const interest = newInterest();
    await register({ interests: [interest], kind: 'voip' });
    const filled = (bytes: number) => ({
      push_type: 'voip',
      payload: { a: 'x'.repeat(bytes - '{"a":""}'.length) },
    });
    const { arrived } = await arrivals(interest, filled(5120));
    expect(arrived.map(({ status }) => status)).toEqual([200]);
    const body = { interests: [interest], apns: filled(5121) };
    expect(await publish(server, '/interests', body)).toMatchObject({
      status: 422,
      json: {
        description:
          '`apns`: the message has 5121 bytes, including what the server adds: the limit is 5120',
      },
    });
  });

  it('has one timestamp for all devices of an activity and all attempts: when it was due', async () => {
    const interest = newInterest();
    const kind = 'liveactivity';
    const [first, second] = [
      await register({ interests: [interest], kind }),
      await register({ interests: [interest], kind }),
    ];
    await script({ gateway: 'apns', to: second.token, status: 503, times: 1 });
    const sendAt = new Date(Date.now() + 1_500).toISOString();
    const apns = { push_type: kind, aps: { event: 'update', ...state } };
    const { arrived } = await arrivals(interest, apns, { sendAt });
    expect(arrived.map(({ to, status }) => `${to} ${status}`).toSorted()).toEqual([
      `${first.token} 200`,
      `${second.token} 200`,
      `${second.token} 503`,
    ]);
    const seconds = Math.floor(Date.parse(sendAt) / 1000);
    for (const { message } of arrived) {
      expect(message).toEqual({ aps: { event: 'update', ...state, timestamp: seconds } });
    }
  });

  it('is tried once if it rings', async () => {
    const interest = newInterest();
    const { token } = await register({ interests: [interest], kind: 'voip' });
    await script({ gateway: 'apns', to: token, status: 503, times: 1 });
    const { arrived, status } = await arrivals(interest, { push_type: 'voip' });
    expect(arrived.map((one) => one.status)).toEqual([503]);
    expect(status.platforms.apns).toMatchObject({ accepted: 0, expired: 1 });
  });
});

describe('a further token', () => {
  const exists = async (id: string) =>
    (await ask(server, 'GET', device(`apns/${id}`))).status === 200;

  it('is removed alone if Apple says that it has ended', async () => {
    const interest = newInterest();
    const parent = await register({ interests: [interest] });
    const child = await register({
      interests: [interest],
      kind: 'voip',
      parentToken: parent.token,
    });
    await script({ gateway: 'apns', to: child.token, status: 410, error: 'Unregistered' });
    const { status } = await arrivals(interest, { push_type: 'voip' });
    expect(status.platforms.apns).toMatchObject({ pruned: 1 });
    expect(await exists(child.id)).toBe(false);
    expect(await exists(parent.id)).toBe(true);
  });

  it('leaves with the ordinary token of its app, which may have come later', async () => {
    const interest = newInterest();
    const parentToken = newToken();
    const child = await register({ interests: [interest], kind: 'voip', parentToken });
    const other = await register({ interests: [interest], kind: 'voip', parentToken: newToken() });
    const body = { token: parentToken.toUpperCase(), bundleIdentifier: BUNDLE };
    const { json } = await ask(server, 'POST', device('apns'), { body });
    const { id } = json as { id: string };
    expect((await ask(server, 'DELETE', device(`apns/${id}`))).status).toBe(200);
    expect(await exists(child.id)).toBe(false);
    expect(await exists(other.id)).toBe(true);
  });

  it('gets no publish of another type, and explain says why', async () => {
    const interest = newInterest();
    const activity = await register({ interests: [interest], kind: 'liveactivity' });
    const ordinary = await register({ interests: [interest] });
    const explained = async (id: string, of: string) => {
      const path = `/publish_api/v1/instances/${INSTANCE.id}/publishes/${id}/devices/${of}`;
      const { json } = await ask(server, 'GET', path, { headers: SECRET });
      const { events } = json as { events: { what: string; detail: string }[] };
      return events.findLast(({ what }) => what === 'not-in-audience')?.detail;
    };
    const alert = await arrivals(interest, { aps: { alert: 'Hi' } });
    expect(await explained(alert.id, activity.id)).toBe(
      'Its token is of kind `liveactivity`; the publish is an `alert`.',
    );
    expect(await explained(alert.id, ordinary.id)).toBeUndefined();
    const voip = await arrivals(interest, { push_type: 'voip' });
    expect(voip.arrived).toEqual([]);
    expect(await explained(voip.id, ordinary.id)).toBe(
      'It has an ordinary token; the publish is a `voip`.',
    );
  });
});

describe('a broadcast channel', () => {
  const path = `/publish_api/v1/instances/${INSTANCE.id}/apns-channels`;
  const headers = { ...SECRET, 'content-type': 'application/json' };
  const update = { push_type: 'liveactivity', aps: { event: 'update', ...state, timestamp: 7 } };

  interface ListedChannel {
    readonly id: string;
    readonly channel: string;
    readonly bundleId: string;
    readonly storage: string;
    readonly interests: readonly string[];
  }

  async function create(storage: 'none' | 'latest', interests: readonly string[]) {
    const body = { bundleId: BUNDLE, storage, interests };
    const { json, status } = await ask(server, 'POST', path, { body, headers });
    expect(status).toBe(200);
    return json as { id: string; channel: string };
  }
  const listed = async () => {
    const { json } = await ask(server, 'GET', path, { headers: SECRET });
    return (json as { channels: ListedChannel[] }).channels;
  };

  it('gets updates and ends of its interests by one request, beside the tokens', async () => {
    const interests = [newInterest()];
    const [interest = ''] = interests;
    const { token } = await register({ interests, kind: 'liveactivity' });
    await register({ interests, kind: 'liveactivity-start' });
    const plain = await create('none', interests);
    const latest = await create('latest', interests);
    expect(await listed()).toEqual([
      { ...plain, bundleId: BUNDLE, storage: 'none', interests },
      { ...latest, bundleId: BUNDLE, storage: 'latest', interests },
    ]);

    const sendAt = new Date(Date.now() + 1_000).toISOString();
    const { arrived, status } = await arrivals(interest, update, { sendAt });
    const byToken = Object.fromEntries(arrived.map((one) => [one.to, one]));
    expect(Object.keys(byToken).toSorted()).toEqual(
      [token, plain.channel, latest.channel].toSorted(),
    );
    const until = Math.floor(Date.parse(sendAt) / 1000) + 8 * 3600;
    for (const [channel, expiration] of [
      [plain.channel, '0'],
      [latest.channel, String(until)],
    ] as const) {
      expect(byToken[channel]).toMatchObject({ status: 200, message: { aps: update.aps } });
      expect(byToken[channel]?.headers).toEqual({
        'apns-channel-id': channel,
        'apns-push-type': 'liveactivity',
        'apns-priority': '10',
        'apns-expiration': expiration,
      });
    }
    expect(status.platforms.apns).toMatchObject({ planned: 3, accepted: 3 });

    const start = { event: 'start', ...state, 'attributes-type': 'A', attributes: {}, alert: {} };
    const started = await arrivals(interest, { push_type: 'liveactivity', aps: start });
    expect(started.arrived).toHaveLength(1);
    const alert = await arrivals(interest, { aps: { alert: 'Hi' } });
    expect(alert.arrived).toEqual([]);

    for (const { id } of [plain, latest]) {
      expect((await ask(server, 'DELETE', `${path}/${id}`, { headers: SECRET })).status).toBe(200);
    }
    expect(await listed()).toEqual([]);
    expect((await arrivals(interest, update)).arrived.map(({ to }) => to)).toEqual([token]);
  });

  it('is removed if Apple does not know it any more, and stays if it is refused', async () => {
    const interest = newInterest();
    const { id, channel } = await create('none', [interest]);
    await script({ gateway: 'apns', to: channel, times: 1, status: 400, error: 'BadChannelId' });
    const refused = await arrivals(interest, update);
    expect(refused.status.platforms.apns).toMatchObject({ failed: 1 });
    expect((await listed()).map((one) => one.id)).toEqual([id]);
    const gone = { status: 400, error: 'ChannelNotRegistered' };
    await script({ gateway: 'apns', to: channel, times: 1, ...gone });
    const { status } = await arrivals(interest, update);
    expect(status.platforms.apns).toMatchObject({ pruned: 1 });
    expect(await listed()).toEqual([]);
  });

  it('is not created if Apple refuses, and its deletion can be repeated', async () => {
    const broken = { status: 400, error: 'FeatureNotEnabled', times: 1 };
    await script({ gateway: 'apns', to: BUNDLE, ...broken });
    const body = { bundleId: BUNDLE, storage: 'none', interests: [] };
    expect(await ask(server, 'POST', path, { body, headers })).toMatchObject({
      status: 502,
      json: { error: 'Bad gateway', description: 'Apple has not done it: FeatureNotEnabled' },
    });
    const { id } = await create('none', []);
    const remove = () => ask(server, 'DELETE', `${path}/${id}`, { headers: SECRET });
    await script({ gateway: 'apns', to: BUNDLE, status: 500, times: 1 });
    expect((await remove()).status).toBe(502);
    expect((await listed()).map((one) => one.id)).toEqual([id]);
    await script({ gateway: 'apns', to: BUNDLE, ...broken, error: 'ChannelNotRegistered' });
    expect((await remove()).status).toBe(200);
    expect((await remove()).status).toBe(200);
    expect(await listed()).toEqual([]);
  });
});
