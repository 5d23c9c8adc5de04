import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import type { RawHttp, RawRequest } from '../../../testing/clients/raw-http.ts';
import { runs, testSeed } from '../../../testing/long-run.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { loggedProblems } from '../../../testing/servers/logged-problems.ts';
import {
  BACKEND,
  BACKEND_JSON,
  beamsToken,
  device,
  events,
  INSTANCE,
  JSON_HEADERS,
  NEIGHBOUR,
  open,
  publishes,
  registered,
  registration,
  seen,
  startPush,
  subscription,
  TO_INTERESTS,
  UNKNOWN,
  user,
} from './exchange.ts';

fc.configureGlobal({ seed: testSeed() });

/** Runs of each property. */
const RUNS = runs(30, 300);

let server: Fanfare;
let connection: RawHttp;
beforeAll(async () => {
  server = await startPush();
  connection = await open(server);
});
afterAll(async () => {
  await connection[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Sends requests one after the other, on a new connection when one ends; returns the status. */
async function statusOf(request: RawRequest): Promise<number> {
  if (connection.ended) connection = await open(server);
  const { status, headers } = seen(await connection.request(request), request.method);
  if (headers.get('connection') === 'close') connection = await open(server);
  return status;
}

const names = fc.constantFrom(
  ...['interests', 'users', 'apns', 'fcm', 'web', 'aps', 'alert', 'notification', 'data', 'title'],
  ...['message', 'android', 'pusher', 'time_to_live', 'webhookUrl', 'sendAt', 'token', 'metadata'],
  ...['bundleIdentifier', 'knownPreviousClientIds', 'sdkVersion', 'event', 'publishId', 'userId'],
  ...['deviceId', 'timestampSecs', 'hasData', '__proto__', 'constructor', 'toJSON', 'length', ''],
);

/** JSON text with the right keys, but mostly wrong values. */
const json: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      'null',
      'true',
      '0',
      '-1',
      '1e400',
      '1.5',
      '""',
      '"a"',
      '"\\u0000"',
      '"\\ud800"',
    ),
    fc.constantFrom('"delivery"', '"2030-01-01T00:00:00Z"', `"fcm-${UNKNOWN}"`, '"https://a.b"'),
    fc.string({ unit: anyCharacter, maxLength: 10 }).map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 4 }).map((all) => `[${all.join(',')}]`),
    fc
      .array(fc.tuple(names, tie('value')), { maxLength: 6 })
      .map((all) => `{${all.map(([name, value]) => `"${name}":${value}`).join(',')}}`),
  ),
})).value;

/** A valid object with one random field, which may also be there twice. */
function nearly(good: object): fc.Arbitrary<string> {
  const text = JSON.stringify(good);
  return fc.oneof(
    fc.tuple(names, json).map(([name, value]) => `{"${name}":${value},${text.slice(1)}`),
    fc.tuple(names, json).map(([name, value]) => `${text.slice(0, -1)},"${name}":${value}}`),
    json,
  );
}

async function expectAnswered(
  bodies: fc.Arbitrary<string>,
  request: Omit<RawRequest, 'body'>,
  statuses: readonly number[],
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      expect(await statusOf({ ...request, body })).toBeOneOf([...statuses]);
    }),
    { numRuns: RUNS },
  );
}

describe('any body is accepted or refused:', () => {
  it('that of a publish to interests', async () => {
    const request = { method: 'POST', target: publishes('/interests'), headers: BACKEND_JSON };
    await expectAnswered(nearly(TO_INTERESTS), request, [200, 400, 422]);
  });

  it('that of a publish to users', async () => {
    const good = { users: ['ann'], apns: { aps: { alert: 'Hi' } }, web: { data: { a: 1 } } };
    const request = { method: 'POST', target: publishes('/users'), headers: BACKEND_JSON };
    await expectAnswered(nearly(good), request, [200, 400, 422]);
  });

  it.each(['apns', 'fcm', 'web'] as const)(
    'that of a device that registers: %s',
    async (platform) => {
      const request = { method: 'POST', target: device(platform) };
      await expectAnswered(nearly(registration(platform)), request, [200, 400]);
    },
  );

  it('that of a subscription within a token', async () => {
    const good = subscription('https://fcm.googleapis.com/fcm/send/x');
    const bodies = fc
      .oneof(nearly(good), fc.string({ unit: anyCharacter }))
      .map((text) => JSON.stringify({ token: Buffer.from(text).toString('base64') }));
    await expectAnswered(bodies, { method: 'POST', target: device('web') }, [200, 400]);
  });

  it('that of a report', async () => {
    const good = { event: 'open', publishId: 'x', deviceId: 'y', timestampSecs: 1 };
    const request = { method: 'POST', target: events(), headers: JSON_HEADERS };
    await expectAnswered(nearly(good), request, [200, 400]);
  });

  it.each(['/metadata', '/token', '/interests'])(
    'that of a change of a device: %s',
    async (rest) => {
      const target = device(`fcm/${await registered(server)}${rest}`);
      const good = { token: 'x', interests: ['a'], sdkVersion: '1' };
      await expectAnswered(nearly(good), { method: 'PUT', target }, [200, 400]);
    },
  );

  it('that of a Beams Token', async () => {
    const target = device(`fcm/${await registered(server)}/user`);
    const claims = fc.dictionary(
      fc.constantFrom('sub', 'exp', 'nbf', 'iss', 'iat', 'aud'),
      fc.oneof(fc.jsonValue(), fc.constantFrom('ann', 99_999_999_999, INSTANCE.id)),
    );
    await fc.assert(
      fc.asyncProperty(claims, fc.dictionary(fc.string(), fc.jsonValue()), async (some, header) => {
        const authorization = `Bearer ${beamsToken(some, undefined, header)}`;
        const status = await statusOf({ method: 'PUT', target, headers: { authorization } });
        expect(status).toBeOneOf([200, 400, 401, 403]);
      }),
      { numRuns: RUNS },
    );
  });
});

describe('any path is answered,', () => {
  const step = fc.oneof(
    fc.constantFrom('..', '.', '%', '%00', '%2e%2e', '%2F', '%ff', '%c3%a9', '+', ';', '~', '%zz'),
    fc.constantFrom(INSTANCE.id, NEIGHBOUR.id, UNKNOWN, `web-${UNKNOWN}`, `pubid-${UNKNOWN}`),
    fc.webSegment(),
  );
  const paths = fc.oneof(
    fc.tuple(step, step).map(([one, other]) => device(`web/${one}`, other)),
    fc.tuple(step, step).map(([one, other]) => device(`fcm/${one}/interests/${other}`)),
    step.map((one) => device(`apns/${one}/interests?cursor=${one}&limit=${one}`)),
    fc.tuple(step, step).map(([one, other]) => user(`${one}/${other}`)),
    step.map((one) => publishes(`/${one}`)),
    step.map((one) => publishes('/interests', one)),
    step.map((one) => events(one)),
    fc.array(step).map((steps) => `/${steps.join('/')}`),
  );

  it('with any method, and with and without a key', async () => {
    const methods = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH');
    const headers = fc.constantFrom({}, JSON_HEADERS, BACKEND, BACKEND_JSON);
    await fc.assert(
      fc.asyncProperty(
        methods,
        paths,
        headers,
        fc.constantFrom('', '{}'),
        async (method, target, some, body) => {
          const status = await statusOf({ method, target, headers: some, body });
          // A user is deleted at most 100 times a second.
          expect(status).toBeOneOf([200, 204, 400, 401, 404, 405, 422, 429]);
        },
      ),
      { numRuns: 4 * RUNS },
    );
  });

  it('and none of it was a fault of the server', () => {
    expect(loggedProblems(server)).toEqual([]);
  });
});
