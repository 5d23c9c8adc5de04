import { describe, expect, it } from 'bun:test';
import {
  BeamsWorker,
  BROWSER,
  ENDPOINT,
  messageWith,
  NOTIFICATION,
  PUSHER,
} from './beams-worker.fixture.ts';

const url = `${ENDPOINT}/device_api/v1/instances/${PUSHER.instanceId}/devices/web/web-1/preferences`;
const put = (body: object) => ({ method: 'PUT', url, body });
const get = { method: 'GET', url, body: undefined };
const nothing = { language: null, timeZone: null, quietHours: null };

/** A worker that has received a push. */
async function pushed(options: ConstructorParameters<typeof BeamsWorker>[0]): Promise<BeamsWorker> {
  const worker = new BeamsWorker(options);
  await worker.pushed(messageWith(NOTIFICATION));
  expect([worker.databasesOpen, worker.shown.length]).toEqual([0, 1]);
  return worker;
}

describe('the language and the time zone of the browser', () => {
  it('are sent with the first push', async () => {
    const worker = await pushed({ sent: 'nothing', answer: async () => Response.json(nothing) });
    expect(worker.requests).toEqual([get, put(BROWSER)]);
    expect(worker.sent.get('web-1')).toEqual(BROWSER);
  });

  it('replace nothing that the server knows already', async () => {
    const known = { ...nothing, language: 'de' };
    const worker = await pushed({ sent: 'nothing', answer: async () => Response.json(known) });
    expect(worker.requests).toEqual([get, put({ timeZone: BROWSER.timeZone })]);
  });

  it('are sent again when they change, and only what has changed', async () => {
    const worker = await pushed({ sent: { ...BROWSER, timeZone: 'Europe/Berlin' } });
    expect(worker.requests).toEqual([put({ timeZone: BROWSER.timeZone })]);
    await worker.pushed(messageWith(NOTIFICATION));
    expect(worker.requests).toHaveLength(1);
  });

  it('are sent with the next push if the server fails', async () => {
    let answers = [new Response(null, { status: 503 }), Response.json({})];
    const worker = await pushed({
      sent: { ...BROWSER, language: 'en' },
      answer: async (to) =>
        to === url ? (answers.shift() ?? Response.json({})) : Response.json({}),
    });
    expect([worker.warnings.length, worker.sent.size]).toEqual([1, 0]);
    answers = [Response.json({})];
    await worker.pushed(messageWith(NOTIFICATION));
    expect(worker.requests).toEqual([put({ language: 'pt-BR' }), put({ language: 'pt-BR' })]);
    expect(worker.sent.size).toBe(1);
  });
});
