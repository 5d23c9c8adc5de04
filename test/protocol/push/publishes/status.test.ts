import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import {
  type Answered,
  ask,
  BACKEND,
  device,
  events,
  INSTANCE,
  JSON_HEADERS,
  NEIGHBOUR,
  NO_INSTANCE,
  nowSeconds,
  planned,
  published,
  publishes,
  refusal,
  registered,
  startPush,
  TO_INTERESTS,
  TO_USERS,
  UNKNOWN,
} from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const NO_PUBLISH = refusal(404, 'Publish not found', 'Could not find the publish');
const NO_DEVICES = {
  planned: 0,
  accepted: 0,
  retrying: 0,
  failed: 0,
  pruned: 0,
  expired: 0,
  cancelled: 0,
};

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

const statusOf = (id: string, instance: string = INSTANCE.id) =>
  ask(server, 'GET', publishes(`/${id}`, instance), { headers: BACKEND });
const cancel = (id: string, headers: Readonly<Record<string, string>> = BACKEND) =>
  ask(server, 'DELETE', publishes(`/${id}`), { headers });
const stateOf = ({ json }: Answered) => (json as { state: string }).state;

describe('the status of a publish', () => {
  it.each([TO_INTERESTS, TO_USERS])(
    'is one object with everything that is known: %j',
    async (body) => {
      const [before, sendAt] = [Date.now(), inAnHour()];
      const id = await published(server, { ...body, sendAt });
      const answer = await statusOf(id);
      const after = Date.now();
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.text).toEndWith('}\n');
      const { createdAt, ...others } = answer.json as Record<string, unknown> & {
        createdAt: string;
      };
      expect(others).toEqual({
        publishId: id,
        state: 'scheduled',
        sendAt,
        nextAt: null,
        lastAt: null,
        platforms: { apns: NO_DEVICES, fcm: NO_DEVICES, web: NO_DEVICES },
        delivered: 0,
        opened: 0,
        reasons: [],
      });
      expect(createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(Date.parse(createdAt)).toBeWithin(before, after + 1);
    },
  );

  it('has no sendAt if the publish is sent at once', async () => {
    const answer = await statusOf(await published(server));
    expect(answer.json).toMatchObject({
      sendAt: null,
      nextAt: null,
      state: expect.stringMatching(/^(planning|delivering|finished)$/),
    });
  });

  it('counts the devices that reported it, each once', async () => {
    const [first, second] = [await registered(server), await registered(server)];
    for (const deviceId of [first, second]) {
      await ask(server, 'POST', device(`fcm/${deviceId}/interests/shop`));
    }
    const id = await published(server);
    await planned(server, id, 2);
    for (const [deviceId, event] of [
      [first, 'delivery'],
      [first, 'delivery'],
      [second, 'delivery'],
      [second, 'open'],
    ]) {
      const body = { event, deviceId, publishId: id, timestampSecs: nowSeconds() };
      await ask(server, 'POST', events(), { headers: JSON_HEADERS, body });
    }
    expect((await statusOf(id)).json).toMatchObject({ delivered: 2, opened: 1 });
  });

  it('is found by any spelling of the id, and HEAD gets no body', async () => {
    const id = await published(server);
    const upper = `pubid-${id.slice('pubid-'.length).toUpperCase()}`;
    for (const spelled of [upper, id.replaceAll('-', '%2d'), `${id}?a=b`]) {
      expect(await statusOf(spelled)).toMatchObject({ status: 200, json: { publishId: id } });
    }
    const head = await ask(server, 'HEAD', publishes(`/${id}`), { headers: BACKEND });
    expect([head.status, head.text, head.headers.get('content-type')]).toEqual([
      200,
      '',
      'application/json',
    ]);
  });

  it('needs no content type, and ignores one', async () => {
    const id = await published(server);
    for (const headers of [
      BACKEND,
      { ...BACKEND, ...JSON_HEADERS },
      { ...BACKEND, 'content-type': 'x' },
    ]) {
      expect((await ask(server, 'GET', publishes(`/${id}`), { headers })).status).toBe(200);
    }
  });
});

describe('cancelling a publish', () => {
  it('returns its status, and does so again', async () => {
    const id = await published(server, { ...TO_INTERESTS, sendAt: inAnHour() });
    const cancelled = await cancel(id);
    expect(cancelled).toMatchObject({ status: 200, json: { publishId: id, state: 'cancelled' } });
    expect((await statusOf(id)).json).toEqual(cancelled.json);
    expect((await cancel(id)).json).toEqual(cancelled.json);
  });

  it('leaves other publishes alone', async () => {
    const [one, other] = [
      await published(server, { ...TO_USERS, sendAt: inAnHour() }),
      await published(server, { ...TO_USERS, sendAt: inAnHour() }),
    ];
    await cancel(one);
    expect(stateOf(await statusOf(other))).toBe('scheduled');
  });

  it('stops what has not been sent', async () => {
    const answer = await cancel(await published(server));
    expect(answer.status).toBe(200);
    expect(['cancelled', 'finished']).toContain(stateOf(answer));
  });

  it('may have a content type and no body', async () => {
    const id = await published(server, { ...TO_INTERESTS, sendAt: inAnHour() });
    expect(stateOf(await cancel(id, { ...BACKEND, ...JSON_HEADERS }))).toBe('cancelled');
  });
});

describe('an unknown publish', () => {
  it.each([
    `pubid-${UNKNOWN}`,
    UNKNOWN,
    'pubid-',
    'pubid-1',
    `PUBID-${UNKNOWN}`,
    `pubid-${UNKNOWN}0`,
    `pubid-${UNKNOWN}%00`,
    '%00',
    '%zz',
    '..',
    '%2e%2e%2finterests',
    '__proto__',
    "'%20OR%201=1--",
    'x'.repeat(300),
  ])('is answered with 404: %s', async (id) => {
    expect(await statusOf(id)).toMatchObject(NO_PUBLISH);
    expect(await cancel(id)).toMatchObject(NO_PUBLISH);
  });

  it('may belong to another instance', async () => {
    const id = await published(server, { ...TO_INTERESTS, sendAt: inAnHour() });
    const headers = { authorization: `Bearer ${NEIGHBOUR.secretKey}` };
    for (const method of ['GET', 'DELETE']) {
      const target = publishes(`/${id}`, NEIGHBOUR.id);
      expect(await ask(server, method, target, { headers })).toMatchObject(NO_PUBLISH);
    }
    expect(stateOf(await statusOf(id))).toBe('scheduled');
  });
});

describe('a request for a publish', () => {
  it.each(['GET', 'DELETE'])('needs a secret key of its instance: %s', async (method) => {
    const id = await published(server, { ...TO_INTERESTS, sendAt: inAnHour() });
    const request = (headers: Readonly<Record<string, string>>, instance: string = INSTANCE.id) =>
      ask(server, method, publishes(`/${id}`, instance), { headers });
    expect(await request({})).toMatchObject(refusal(400, 'Incomplete Request', /Authorization/));
    for (const authorization of [
      'Bearer wrong',
      'Bearer',
      INSTANCE.secretKey,
      `Bearer ${NEIGHBOUR.secretKey}`,
    ]) {
      expect(await request({ authorization })).toMatchObject(
        refusal(401, 'Unauthorized', 'Incorrect Secret Key'),
      );
    }
    for (const instance of [UNKNOWN, 'x']) {
      expect(await request(BACKEND, instance)).toMatchObject(NO_INSTANCE);
    }
    expect(await request(BACKEND, '')).toMatchObject(
      refusal(400, 'Incomplete Request', /instance-id/),
    );
    expect(stateOf(await statusOf(id))).toBe('scheduled');
  });
});
