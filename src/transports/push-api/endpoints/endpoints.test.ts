import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../../testing/any-character.ts';
import { StoreBusy, StoreLost } from '../../../push/store-faults.ts';
import { statuses } from '../problems.ts';
import { routes } from '../routes.ts';
import {
  BACKEND_JSON,
  beamsToken,
  device,
  events,
  INSTANCE,
  PushApi,
  publishes,
  registrations,
  UNKNOWN,
  user,
} from './endpoints.fixture.ts';

const FCM = `fcm-${UNKNOWN}`;
const TOKEN = { authorization: `Bearer ${beamsToken()}` };
const REPORT = { event: 'open', publishId: 'p', deviceId: 'd', timestampSecs: 1 };

/** Valid requests that need the store. */
const questions = [
  ['POST', publishes('/interests'), BACKEND_JSON, { interests: ['a'], fcm: {} }],
  ['POST', publishes(), BACKEND_JSON, { interests: ['a'], fcm: {} }],
  ['POST', publishes('/users'), BACKEND_JSON, { users: ['a'], fcm: {} }],
  ['GET', publishes(`/pubid-${UNKNOWN}`), BACKEND_JSON, undefined],
  ['DELETE', publishes(`/pubid-${UNKNOWN}`), BACKEND_JSON, undefined],
  ['DELETE', user('ann'), BACKEND_JSON, undefined],
  ['POST', device('apns'), {}, registrations.apns],
  ['POST', device('fcm'), {}, registrations.fcm],
  ['POST', device('web'), {}, registrations.web],
  ['GET', device(`fcm/${FCM}`), {}, undefined],
  ['DELETE', device(`fcm/${FCM}`), {}, undefined],
  ['PUT', device(`fcm/${FCM}/metadata`), {}, {}],
  ['PUT', device(`fcm/${FCM}/token`), {}, { token: 'a' }],
  ['PUT', device(`fcm/${FCM}/user`), TOKEN, undefined],
  ['GET', device(`fcm/${FCM}/interests`), {}, undefined],
  ['PUT', device(`fcm/${FCM}/interests`), {}, { interests: [] }],
  ['POST', device(`fcm/${FCM}/interests/a`), {}, undefined],
  ['DELETE', device(`fcm/${FCM}/interests/a`), {}, undefined],
  ['POST', events(), BACKEND_JSON, REPORT],
] as const;

describe('while the store cannot be used', () => {
  for (const [method, path, headers, body] of questions) {
    const ask = (api: PushApi) => api.ask(method, path, { headers, body });

    it(`${method} ${path} is answered with 503 if the store fails`, async () => {
      for (const [error, why] of [
        [new StoreLost('it is gone'), 'it is gone'],
        [new StoreBusy('too many changes wait for it'), 'too many changes wait for it'],
        [new Error('disk of /var/secret is full'), 'it did not answer'],
      ] as const) {
        const api = new PushApi();
        api.storeThrows = error;
        expect(await ask(api)).toEqual({
          status: 503,
          error: 'Service Unavailable',
          description: `The store cannot be used now: ${why}`,
          retryAfter: 5,
        });
        expect([api.failures, api.worked, api.asked.length]).toEqual([[error], 0, 1]);
      }
    });

    it(`${method} ${path} is answered with 503 without a query while the store is known to be unusable`, async () => {
      const api = new PushApi();
      api.storeFault = 'it is being moved';
      const later = {
        status: 503,
        error: 'Service Unavailable',
        description: 'The store cannot be used now: it is being moved',
        retryAfter: 5,
      };
      expect(await ask(api)).toEqual(later);
      // The instance may be one that could not be read.
      api.instance = undefined;
      expect(await ask(api)).toEqual(later);
      expect([api.asked, api.failures]).toEqual([[], []]);
    });
  }

  it('the reason is in the answer as soon as it is known', async () => {
    const api = new PushApi();
    api.storeThrows = new Error('ENOSPC');
    api.failures.push = (...errors) => {
      api.storeFault = 'its disk is full';
      return errors.length;
    };
    const heard = await api.ask('GET', device(`fcm/${FCM}`));
    expect(heard.description).toBe('The store cannot be used now: its disk is full');
  });

  it('invalid requests are still refused as invalid', async () => {
    const api = new PushApi();
    api.storeFault = 'it is being moved';
    const path = publishes('/interests');
    expect(await api.ask('POST', path)).toMatchObject({ error: 'Invalid content type' });
    expect(await api.ask('POST', path, { headers: BACKEND_JSON })).toMatchObject({ status: 400 });
    const key = `/device_api/v1/instances/${INSTANCE.id}/web-vapid-public-key`;
    expect(await api.ask('GET', key)).toMatchObject({ status: 200 });
  });
});

describe('for any request', () => {
  const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH');
  const odd = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 200 }),
    fc.constantFrom(
      INSTANCE.id,
      FCM,
      'web',
      'fcm',
      'apns',
      '%',
      '%00',
      '%2F',
      '+',
      'a;b',
      'pubid-',
    ),
  );
  const paths = fc
    .tuple(fc.constantFrom(...routes.map(([, path]) => path)), fc.array(odd, { maxLength: 4 }))
    .map(([path, texts]) => {
      let next = 0;
      return path.replace(/:\w+/g, (name) =>
        name === ':instance' && next % 2 === 0 ? INSTANCE.id : (texts[next++] ?? 'fcm'),
      );
    });
  const headers = fc.record(
    {
      'content-type': fc.oneof(fc.constant('application/json'), odd),
      authorization: fc.oneof(
        fc.constantFrom(BACKEND_JSON.authorization, TOKEN.authorization),
        odd,
        odd.map((text) => `Bearer ${text}`),
      ),
      'x-pusher-library': fc.oneof(fc.constant('x-ruby'), odd),
      'user-agent': odd,
      'idempotency-key': odd,
      host: odd,
    },
    { requiredKeys: [] },
  );
  const bodies = fc.oneof(
    fc.uint8Array({ maxLength: 100 }),
    fc.json(),
    fc.constantFrom(...questions.flatMap(([, , , body]) => (body === undefined ? [] : [body]))),
    fc.record(
      {
        token: fc.jsonValue(),
        interests: fc.jsonValue(),
        users: fc.jsonValue(),
        metadata: fc.jsonValue(),
        fcm: fc.jsonValue(),
        event: fc.jsonValue(),
        knownPreviousClientIds: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  );

  it('the answer is documented and holds no secret', async () => {
    const known = new Set(Object.values(statuses).map(({ status, title }) => `${status} ${title}`));
    await fc.assert(
      fc.asyncProperty(
        methods,
        paths,
        odd,
        headers,
        bodies,
        async (method, path, query, head, body) => {
          const api = new PushApi();
          const heard = await api.ask(method, `${path}?limit=${query}&cursor=${query}`, {
            headers: head,
            body,
          });
          if (heard.status === 200) return;
          expect(known).toContain(`${heard.status} ${heard.error}`);
          expect(heard.description).not.toBe('');
          expect(heard.status).toBeLessThan(500);
          const said = JSON.stringify([heard, api.logged]);
          for (const secret of INSTANCE.secretKeys) expect(said).not.toContain(secret);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
