import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { requestBytes } from '../../../testing/clients/raw-http.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import {
  type Answered,
  ask,
  device,
  expectEmpty,
  JSON_HEADERS,
  open,
  published,
  publishes,
  reconfigure,
  refusal,
  registered,
  registration,
  seen,
  startPush,
  TO_INTERESTS,
  TO_USERS,
  user,
} from './exchange.ts';

/** An instance for each test, so that no test waits for the next second. */
interface Instance {
  readonly id: string;
  readonly secretKeys: readonly [string];
  readonly limits: { readonly publishesPerSecond?: number };
}

const instanceWith = (limits: Instance['limits']): Instance => ({
  id: randomUUID(),
  secretKeys: [randomUUID()],
  limits,
});

/** Requests that are sent at once exceed it even on a busy machine. */
const few = { publishesPerSecond: 1 };
const free = { publishesPerSecond: 0 };
const refused = instanceWith(few);
const shared = instanceWith(few);
const reader = instanceWith(few);
const careless = instanceWith(few);
const changed = instanceWith(few);
const usual = instanceWith({});
const unlimited = instanceWith(free);
const deleting = instanceWith(free);
const instances = [refused, shared, reader, careless, changed, usual, unlimited, deleting];

let server: Fanfare;
beforeAll(async () => {
  server = await startPush({ push: { instances } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Below the limit of requests in flight on one connection. */
const AT_ONCE = 25;

/** Sends requests at once, so that the server reads them at the same moment; returns the answers in order. */
async function sent(requests: readonly Buffer[]): Promise<Answered[]> {
  await using connection = await open(server);
  connection.write(Buffer.concat(requests));
  const answers: Answered[] = [];
  for (const _ of requests) answers.push(seen(await connection.read()));
  return answers;
}

/** Sends one request 100 times at once, on several connections. */
async function hundred(request: Buffer): Promise<Answered[]> {
  const some = Array<Buffer>(AT_ONCE).fill(request);
  return (await Promise.all([some, some, some, some].map(sent))).flat();
}

/** Sends until a request is refused. Even a slow machine sends more than 100 in a second. */
async function firstRefused(request: Buffer): Promise<Answered> {
  for (;;) {
    const refusal = (await hundred(request)).find(({ status }) => status !== 200);
    if (refusal !== undefined) return refusal;
  }
}

const keyOf = ({ secretKeys: [key] }: Instance) => ({ authorization: `Bearer ${key}` });

/** The bytes of a publish. */
function publish(instance: Instance, body: object = TO_INTERESTS, path = '/interests'): Buffer {
  return requestBytes({
    method: 'POST',
    target: publishes(path, instance.id),
    headers: { ...JSON_HEADERS, ...keyOf(instance) },
    body: JSON.stringify(body),
  });
}

const statuses = (answers: readonly Answered[]) => answers.map(({ status }) => status);

describe('an instance that publishes too often', () => {
  it('is refused with 429 and Retry-After', async () => {
    const request = publish(refused);
    const [first, ...others] = await sent([request, request, request]);
    expect(first?.status).toBe(200);
    for (const other of others) {
      expect(other).toMatchObject(refusal(429, 'Rate Limited', /at most 1 per second/));
      expect(other.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
  });

  it('has one rate for interests, users and the old path, apart from other instances', async () => {
    const answers = await sent([
      publish(shared, TO_USERS, '/users'),
      publish(shared, TO_INTERESTS, '/interests'),
      publish(shared, TO_USERS, '/users'),
      publish(shared, TO_INTERESTS, ''),
      ...Array<Buffer>(20).fill(publish(unlimited)),
    ]);
    expect(statuses(answers)).toEqual([200, 429, 429, 429, ...Array(20).fill(200)]);
  });

  it('may still read, cancel and delete, and its devices may register', async () => {
    const request = publish(reader);
    const [first, second] = await sent([request, request]);
    expect(second?.status).toBe(429);
    const [publishId = ''] = /pubid-[\w-]+/.exec(first?.text ?? '') ?? [];
    const headers = keyOf(reader);
    for (const method of ['GET', 'GET', 'DELETE']) {
      const target = publishes(`/${publishId}`, reader.id);
      expect((await ask(server, method, target, { headers })).status).toBe(200);
    }
    await expectEmpty(ask(server, 'DELETE', user('ann', reader.id), { headers }));
    await registered(server, 'fcm', {}, reader.id);
  });

  it('does not use up its rate with requests refused for another reason', async () => {
    const target = publishes('/interests', careless.id);
    const headers = { ...JSON_HEADERS, ...keyOf(careless) };
    const send = (body: string, others: object = {}) =>
      requestBytes({ method: 'POST', target, headers: { ...headers, ...others }, body });
    const answers = await sent([
      send('{}'),
      send('['),
      send(JSON.stringify(TO_INTERESTS), { authorization: 'Bearer wrong' }),
      publish(careless),
    ]);
    expect(statuses(answers)).toEqual([422, 400, 401, 200]);
  });

  it('may publish 100 times a second by default', async () => {
    const request = publish(usual);
    expect(statuses(await hundred(request))).toEqual(Array(100).fill(200));
    expect(await firstRefused(request)).toMatchObject(
      refusal(429, 'Rate Limited', /at most 100 per second/),
    );
  });

  it('has no limit if that is 0', async () => {
    const answers = [await hundred(publish(unlimited)), await hundred(publish(unlimited))];
    expect(statuses(answers.flat())).toEqual(Array(200).fill(200));
  });

  it('follows a new rate while the server runs', async () => {
    await sent([publish(changed), publish(changed)]);
    const others = instances.filter((instance) => instance !== changed);
    await reconfigure(server, { push: { instances: [...others, { ...changed, limits: free }] } });
    const answers = await sent(Array<Buffer>(AT_ONCE).fill(publish(changed)));
    expect(new Set(statuses(answers))).toEqual(new Set([200]));
  });
});

it('a backend may delete 100 users a second, in each instance', async () => {
  const remove = (instance: Instance) =>
    requestBytes({
      method: 'DELETE',
      target: user('nobody', instance.id),
      headers: keyOf(instance),
    });
  expect(statuses(await hundred(remove(deleting)))).toEqual(Array(100).fill(200));
  const refused = await firstRefused(remove(deleting));
  expect(refused).toMatchObject(refusal(429, 'Rate Limited'));
  expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(statuses(await sent([remove(unlimited), publish(deleting)]))).toEqual([200, 200]);
});

describe('devices at one address', () => {
  const FEW = { requestsPerSecond: 0, rowsPerSecond: 1, reportsPerSecond: 0 };
  let slow: Fanfare;
  beforeAll(async () => {
    slow = await startPush({
      push: { addressLimits: FEW },
      config: { trustedProxies: ['127.0.0.3'] },
    });
  });
  afterAll(() => slow[Symbol.asyncDispose]());

  const register = (from?: string, headers: Record<string, string> = {}) =>
    ask(slow, 'POST', device('fcm'), {
      body: registration('fcm'),
      headers,
      ...(from === undefined ? {} : { from }),
    });
  const statuses = async (count: number, one: () => Promise<Answered>) => {
    const all: number[] = [];
    for (let n = 0; n < count; n++) all.push((await one()).status);
    return all;
  };

  it('are limited with 429 and a log line, and nobody else is', async () => {
    const all = await statuses(25, () => register());
    // The burst is one minute: 60 rows at 1 a second, which is 15 registrations. The bucket refills a little meanwhile.
    expect(all.slice(0, 15)).toEqual(Array(15).fill(200));
    expect(all.at(-1)).toBe(429);
    const answer = await register();
    expect(answer).toMatchObject(refusal(429, 'Rate Limited', /from this address/));
    expect(answer.headers.get('retry-after')).toBe('10');
    expect((await register('127.0.0.2')).status).toBe(200);
    await published(slow);
    const line = JSON.parse(
      await slow.logged(/Requests of devices refused: too many from one address/),
    );
    expect(line).toMatchObject({
      address: '127.0.0.1',
      setting: 'push.addressLimits.rowsPerSecond',
      hint: 'if this is your proxy, add it to trustedProxies',
    });
  });

  it('are limited by client behind a trusted proxy, and together behind any other', async () => {
    let client = 0;
    const another = (from: string) => {
      client++;
      return register(from, { 'x-forwarded-for': `198.51.100.${client}` });
    };
    expect(await statuses(40, () => another('127.0.0.3'))).toEqual(Array(40).fill(200));
    expect(await statuses(25, () => another('127.0.0.4'))).toContain(429);
  });
});
