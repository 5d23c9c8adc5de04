import { describe, expect, it } from 'bun:test';
import {
  BeamsWorker,
  DEVICE,
  ENDPOINT,
  type FakeSubscription,
  NEW_SUBSCRIPTION,
  PUSHER,
} from './beams-worker.fixture.ts';

const ID = PUSHER.instanceId;
const OTHER = '7d1f0b5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';
const KEY = Uint8Array.from({ length: 65 }, (_, n) => 255 - n);
const KEY_TEXT = Buffer.from(KEY).toString('base64url');
const options = { applicationServerKey: KEY.buffer };

const OLD: FakeSubscription = { endpoint: 'https://push.example/old', options };
const NEW: FakeSubscription = { endpoint: 'https://push.example/newer', options };

const NEWEST: FakeSubscription = { endpoint: 'https://push.example/newest', options };

const tokenOf = (subscription: FakeSubscription) => btoa(JSON.stringify(subscription));

/** A device of an instance with a subscription, as the SDK stores it. */
const deviceOf = (instance_id: string, subscription = OLD, device_id = `web-${instance_id}`) => ({
  ...DEVICE,
  instance_id,
  device_id,
  token: tokenOf(subscription),
});

const urlOf = (id: string) => `${ENDPOINT}/device_api/v1/instances/${id}`;

/** The request that moves a device. */
const moved = (id: string, to: FakeSubscription) => ({
  method: 'PUT',
  url: `${urlOf(id)}/devices/web/web-${id}/token`,
  body: { token: tokenOf(to) },
});

const answerWithKey = async (url: string) =>
  Response.json(url.endsWith('/web-vapid-public-key') ? { vapidPublicKey: KEY_TEXT } : {});

/** Replaces the subscription as the browser does. */
async function change(
  worker: BeamsWorker,
  oldSubscription: FakeSubscription | null,
  newSubscription: FakeSubscription | null,
): Promise<void> {
  await worker.dispatch('pushsubscriptionchange', { oldSubscription, newSubscription });
  expect(worker.databasesOpen).toBe(0);
}

describe('a replaced subscription', () => {
  it('moves the device, first on the server and then where the SDK looks', async () => {
    const worker = new BeamsWorker({ devices: { [ID]: deviceOf(ID) } });
    await change(worker, OLD, NEW);
    expect(worker.requests).toEqual([moved(ID, NEW)]);
    expect(worker.stored[ID]).toEqual({ ...deviceOf(ID), token: tokenOf(NEW) });
    expect([worker.subscribed, worker.warnings]).toEqual([[], []]);
  });

  it('is made again with the key of the old one, if the browser has made none', async () => {
    const worker = new BeamsWorker({ devices: { [ID]: deviceOf(ID) } });
    await change(worker, OLD, null);
    expect(worker.subscribed).toEqual([
      { userVisibleOnly: true, applicationServerKey: KEY.buffer },
    ]);
    expect(worker.requests).toEqual([moved(ID, NEW_SUBSCRIPTION)]);
  });

  it('is made with the key of the server, if the browser does not know the old one', async () => {
    const worker = new BeamsWorker({ devices: { [ID]: deviceOf(ID) }, answer: answerWithKey });
    await change(worker, null, null);
    expect(worker.subscribed).toEqual([{ userVisibleOnly: true, applicationServerKey: KEY_TEXT }]);
    expect(worker.requests).toEqual([
      { method: 'GET', url: `${urlOf(ID)}/web-vapid-public-key`, body: undefined },
      moved(ID, NEW_SUBSCRIPTION),
    ]);
  });

  it('is used as the page has made it in between', async () => {
    const devices = { [ID]: deviceOf(ID) };
    const worker = new BeamsWorker({ devices, subscription: NEW });
    await change(worker, OLD, null);
    expect(worker.subscribed).toEqual([]);
    expect(worker.requests).toEqual([moved(ID, NEW)]);
  });

  it('moves the devices of all instances of the site that had it, and no others', async () => {
    const elsewhere = { endpoint: 'https://push.example/elsewhere', options };
    const third = '00000000-6c1c-4c6c-9d8e-1f0e5a6f7b8c';
    const devices = {
      [ID]: deviceOf(ID),
      [OTHER]: deviceOf(OTHER),
      [third]: deviceOf(third, elsewhere),
    };
    const worker = new BeamsWorker({ devices });
    await change(worker, OLD, NEW);
    expect(worker.requests).toEqual([moved(ID, NEW), moved(OTHER, NEW)]);
    expect(worker.stored[third]).toEqual(deviceOf(third, elsewhere));
  });

  it('of another key than that of the instance moves nothing, if the old one is not known', async () => {
    const stranger = { ...NEW, options: { applicationServerKey: new ArrayBuffer(65) } };
    const worker = new BeamsWorker({ devices: { [ID]: deviceOf(ID) }, answer: answerWithKey });
    await change(worker, null, stranger);
    expect(worker.requests.map(({ method }) => method)).toEqual(['GET']);
    expect(worker.stored[ID]).toEqual(deviceOf(ID));
  });

  it('leaves the database as it is if the server refuses, and the next instance is moved', async () => {
    const devices = { [ID]: deviceOf(ID), [OTHER]: deviceOf(OTHER) };
    const answer = async (url: string) =>
      new Response('{}', { status: url.includes(ID) ? 404 : 200 });
    const worker = new BeamsWorker({ devices, answer });
    await change(worker, OLD, NEW);
    expect(worker.stored).toEqual({
      [ID]: deviceOf(ID),
      [OTHER]: { ...deviceOf(OTHER), token: tokenOf(NEW) },
    });
    expect(worker.warnings).toHaveLength(1);
  });

  it('does not touch a device that the page has registered in between', async () => {
    const worker: BeamsWorker = new BeamsWorker({
      devices: { [ID]: deviceOf(ID) },
      answer: async () => {
        worker.stored[ID] = deviceOf(ID, NEWEST, 'web-another');
        return Response.json({});
      },
    });
    await change(worker, OLD, NEW);
    expect(worker.stored[ID]).toEqual(deviceOf(ID, NEWEST, 'web-another'));
  });

  it('of a site without devices costs nothing', async () => {
    const gone = { instance_id: ID, device_id: null, token: null, user_id: null };
    for (const devices of [{}, { [ID]: gone }]) {
      const worker = new BeamsWorker({ devices });
      await change(worker, OLD, null);
      expect([worker.requests, worker.subscribed, worker.warnings]).toEqual([[], [], []]);
    }
  });
});
