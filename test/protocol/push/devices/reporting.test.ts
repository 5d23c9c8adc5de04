import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  ask,
  BACKEND,
  device,
  events,
  expectEmpty,
  fieldRefusal,
  INSTANCE,
  JSON_HEADERS,
  NEIGHBOUR,
  nowSeconds,
  planned,
  published,
  publishes,
  refusal,
  registered,
  registeredOf,
  startPush,
  TO_INTERESTS,
  TO_USERS,
  UNKNOWN,
} from '../exchange.ts';

let server: Fanfare;
let publishId: string;
let deviceId: string;
beforeAll(async () => {
  server = await startPush();
  deviceId = await subscribed();
  publishId = await toSubscribed(1);
});
afterAll(() => server[Symbol.asyncDispose]());

const event = (change: object = {}) => ({
  event: 'delivery',
  publishId,
  deviceId,
  timestampSecs: nowSeconds(),
  ...change,
});

/** Registers a device that is subscribed. */
async function subscribed(platform: 'fcm' | 'web' = 'fcm'): Promise<string> {
  const id = await registered(server, platform);
  await expectEmpty(ask(server, 'POST', device(`${platform}/${id}/interests/shop`)));
  return id;
}

/** Publishes to all subscribed devices, and waits until that many are planned. */
async function toSubscribed(devices: number): Promise<string> {
  const body = { ...TO_INTERESTS, web: { notification: { title: 'Hi' } } };
  const id = await published(server, body);
  await planned(server, id, devices);
  return id;
}

const report = (body: unknown, instance: string = INSTANCE.id) =>
  ask(server, 'POST', events(instance), { headers: JSON_HEADERS, body });

/** Accepted with 200, whether it is counted or dropped. */
async function expectTaken(body: unknown, instance?: string): Promise<void> {
  const { status, text, headers } = await report(body, instance);
  expect([status, text, headers.get('content-type')]).toEqual([200, '{}\n', 'application/json']);
}

async function counts(id: string): Promise<[delivered: number, opened: number]> {
  const { json } = await ask(server, 'GET', publishes(`/${id}`), { headers: BACKEND });
  const { delivered, opened } = json as { delivered: number; opened: number };
  return [delivered, opened];
}

describe('a report', () => {
  it('of a delivery has these fields', async () => {
    await expectTaken(
      event({
        userId: 'ann',
        appInBackground: true,
        hasDisplayableContent: true,
        hasData: false,
      }),
    );
  });

  it('of an open has fewer', async () => {
    await expectTaken(event({ event: 'open', userId: 'ann' }));
  });

  it('as the web SDK sends it: more fields with an open, null for no user', async () => {
    const web = { userId: null, appInBackground: false, hasDisplayableContent: true };
    await expectTaken(event({ ...web, event: 'delivery' }));
    await expectTaken(event({ ...web, event: 'open', hasData: true }));
  });

  it('as iOS and Android send it: with a capital letter and the instance', async () => {
    for (const name of ['Delivery', 'Open', 'DELIVERY', 'oPEN']) {
      await expectTaken(event({ event: name, instanceId: INSTANCE.id }));
    }
  });

  it('needs no Authorization, and ignores it', async () => {
    for (const authorization of ['Bearer wrong', 'x', BACKEND.authorization]) {
      const headers = { ...JSON_HEADERS, authorization };
      const answer = await ask(server, 'POST', events(), { headers, body: event() });
      expect(answer.status).toBe(200);
    }
  });

  it('may have unknown fields', async () => {
    await expectTaken(event({ instanceId: 7, newer: {}, constructor: 'x' }));
    await expectTaken(JSON.stringify(event()).replace('{', '{"__proto__":{"event":7},'));
  });

  it('may have null in optional fields', async () => {
    const none = {
      userId: null,
      appInBackground: null,
      hasDisplayableContent: null,
      hasData: null,
    };
    await expectTaken(event(none));
    await expectTaken(event({ ...none, event: 'open' }));
  });

  it('of an open may have any values in the fields of a delivery', async () => {
    await expectTaken(
      event({ event: 'open', appInBackground: 'x', hasDisplayableContent: 7, hasData: {} }),
    );
  });
});

/** Each row of the seed's table. */
describe('a report is refused with 400', () => {
  it.each(['text/plain', '', 'application/jsonp', 'application/x-www-form-urlencoded'])(
    'with the content type %j',
    async (type) => {
      const headers = { 'content-type': type };
      expect(await ask(server, 'POST', events(), { headers, body: event() })).toMatchObject(
        refusal(400, 'Invalid content type'),
      );
    },
  );

  it('without a content type', async () => {
    expect(await ask(server, 'POST', events(), { body: event() })).toMatchObject(
      refusal(400, 'Invalid content type'),
    );
  });

  it.each([
    '/reporting_api/v2/instances//events',
    '/reporting_api/v2/events',
    '/reporting_api/v2/instances/events',
  ])('without an instance id in the path: %s', async (target) => {
    const asked = { headers: JSON_HEADERS, body: event() };
    expect(await ask(server, 'POST', target, asked)).toMatchObject(
      refusal(400, 'Incomplete Request', /instance-id/),
    );
  });

  it.each([
    'x',
    '%00',
    INSTANCE.id.replaceAll('-', ''),
    `${INSTANCE.id}0`,
    `{${INSTANCE.id}}`,
    `${INSTANCE.id}%0A`,
    '..',
  ])('with an instance id that is not a UUID: %s', async (instance) => {
    expect(await report(event(), instance)).toMatchObject(refusal(400, 'Bad request', /UUID/));
  });

  it.each(['', 'null', '[]', '"x"', '7', '{', 'event=open'])(
    'with a body that is not a JSON object: %j',
    async (body) => {
      expect(await report(body)).toMatchObject(
        refusal(400, 'Bad request', 'The body cannot be read as a JSON object'),
      );
    },
  );

  it.each(['event', 'publishId', 'deviceId', 'timestampSecs'])(
    'with %s missing or null',
    async (field) => {
      for (const value of [undefined, null]) {
        expect(await report(event({ [field]: value }))).toMatchObject(
          refusal(400, 'Bad request', new RegExp(`\`${field}\`.*required`)),
        );
      }
    },
  );

  it('for the first field that is missing, in the order of the specification', async () => {
    const { event: _, ...noEvent } = event();
    const { publishId: _p, ...noPublish } = event();
    for (const [body, field] of [
      [{}, 'event'],
      [{ timestampSecs: 1 }, 'event'],
      [noEvent, 'event'],
      [{ event: 'open' }, 'publishId'],
      [noPublish, 'publishId'],
      [{ event: 'open', publishId }, 'deviceId'],
      [{ event: 'open', publishId, deviceId }, 'timestampSecs'],
    ] as const) {
      expect(await report(body)).toMatchObject(fieldRefusal(field, 400, 'Bad request'));
    }
  });

  it.each<[string, unknown]>([
    ['event', 'delivered'],
    ['event', ''],
    ['event', 7],
    ['event', ['open']],
    ['event', 'open '],
    ['event', '__proto__'],
    ['publishId', 7],
    ['publishId', ''],
    ['publishId', {}],
    ['publishId', 'x'.repeat(201)],
    ['publishId', '\u0000'],
    ['publishId', '\ud800'],
    ['deviceId', 7],
    ['deviceId', ''],
    ['deviceId', []],
    ['deviceId', '\u0000'],
    ['timestampSecs', '1700000000'],
    ['timestampSecs', 1_700_000_000.5],
    ['timestampSecs', -1],
    ['timestampSecs', 1e21],
    ['timestampSecs', true],
    ['timestampSecs', {}],
    ['userId', 7],
    ['userId', ''],
    ['userId', {}],
    ['userId', 'x'.repeat(165)],
    ['userId', '\u0000'],
    ['appInBackground', 'true'],
    ['appInBackground', 1],
    ['hasDisplayableContent', 0],
    ['hasData', {}],
  ])('with %s: %j', async (field, value) => {
    expect(await report(event({ [field]: value }))).toMatchObject(
      fieldRefusal(field, 400, 'Bad request'),
    );
  });

  it('with a number that is too large', async () => {
    for (const number of ['1e400', '-1e400', '9'.repeat(400), '253402300800']) {
      const body = `{"event":"open","publishId":"x","deviceId":"y","timestampSecs":${number}}`;
      expect(await report(body)).toMatchObject(fieldRefusal('timestampSecs', 400, 'Bad request'));
    }
    for (const number of ['1.7e9', '1700000000.0', '0', '253402300799']) {
      await expectTaken(
        `{"event":"open","publishId":"x","deviceId":"y","timestampSecs":${number}}`,
      );
    }
  });

  it('with a body of more than 16 KiB', async () => {
    const body = JSON.stringify(event());
    await expectTaken(body + ' '.repeat(16_384 - body.length));
    expect(await report(body + ' '.repeat(16_385 - body.length))).toMatchObject(
      refusal(400, 'Bad request', /16 KiB/),
    );
  });

  it('in the order of checks', async () => {
    expect(await ask(server, 'POST', events('x'), { body: '{' })).toMatchObject(
      refusal(400, 'Invalid content type'),
    );
    expect(await report('{', 'x')).toMatchObject(refusal(400, 'Bad request', /UUID/));
    expect(await report('{')).toMatchObject(refusal(400, 'Bad request', /JSON object/));
  });
});

/** Push protocol, §3.7: iOS would register again at a 404. */
describe('a report is accepted and dropped', () => {
  it('if its publish, device or instance is unknown', async () => {
    for (const change of [
      { publishId: `pubid-${UNKNOWN}` },
      { publishId: 'x' },
      { publishId: 'x'.repeat(200) },
      { deviceId: `fcm-${UNKNOWN}` },
      { deviceId: 'x' },
      { deviceId: '__proto__' },
    ]) {
      await expectTaken(event(change));
    }
    await expectTaken(event(), UNKNOWN);
    await expectTaken(event(), UNKNOWN.toUpperCase());
  });

  it('if the publish or the device belongs to another instance', async () => {
    const id = await toSubscribed(1);
    const elsewhere = await registered(server, 'fcm', {}, NEIGHBOUR.id);
    await expectTaken(event({ publishId: id }), NEIGHBOUR.id);
    await expectTaken(event({ publishId: id, deviceId: elsewhere }), NEIGHBOUR.id);
    await expectTaken(event({ publishId: id, deviceId: elsewhere }));
    expect(await counts(id)).toEqual([0, 0]);
  });

  it('if the publish is not for the device', async () => {
    const id = await toSubscribed(1);
    const stranger = await registered(server);
    for (const name of ['delivery', 'open']) {
      await expectTaken(event({ publishId: id, deviceId: stranger, event: name }));
    }
    expect(await counts(id)).toEqual([0, 0]);
    await expectTaken(event({ publishId: id }));
    expect(await counts(id)).toEqual([1, 0]);
  });
});

describe('reports', () => {
  it('are counted once for each publish, device and event', async () => {
    const other = await subscribed('web');
    const id = await toSubscribed(2);
    expect(await counts(id)).toEqual([0, 0]);
    await Promise.all(Array.from({ length: 10 }, () => expectTaken(event({ publishId: id }))));
    expect(await counts(id)).toEqual([1, 0]);
    await expectTaken(event({ publishId: id, timestampSecs: 5, userId: 'bob', hasData: true }));
    await expectTaken(event({ publishId: id, event: 'Open' }));
    await expectTaken(event({ publishId: id, event: 'open' }));
    expect(await counts(id)).toEqual([1, 1]);
    await expectTaken(event({ publishId: id, deviceId: other, event: 'open' }));
    expect(await counts(id)).toEqual([1, 2]);
  });

  it('are counted with ids in any spelling', async () => {
    const id = await toSubscribed(2);
    const upper = (text: string, prefix: string) =>
      prefix + text.slice(prefix.length).toUpperCase();
    await expectTaken(
      event({ publishId: upper(id, 'pubid-'), deviceId: upper(deviceId, 'fcm-') }),
      INSTANCE.id.toUpperCase(),
    );
    await expectTaken(event({ publishId: id }));
    expect(await counts(id)).toEqual([1, 0]);
  });

  it('of a publish to users are counted, with and without the user', async () => {
    const ann = await registeredOf(server, 'ann');
    const id = await published(server, TO_USERS);
    await planned(server, id, 1);
    await expectTaken(event({ publishId: id, deviceId: ann, userId: 'ann' }));
    await expectTaken(event({ publishId: id, deviceId: ann, event: 'open' }));
    expect(await counts(id)).toEqual([1, 1]);
  });

  it('are not refused for their number', async () => {
    const answers = await Promise.all(Array.from({ length: 300 }, () => report(event())));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
