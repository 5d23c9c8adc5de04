import { expect } from 'bun:test';
import {
  markedPublish,
  newMarker,
  type PushAnswer,
  PushConnection,
  PushRequests,
  requestPush,
} from '../../../testing/clients/push-requests.ts';
import type { RawRequest } from '../../../testing/clients/raw-http.ts';
import {
  type Fanfare,
  type FanfareOptions,
  startFanfare,
} from '../../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../../testing/servers/push-server.ts';

/** Longer than the pauses between two looks at the store; shorter than a test may take. */
const SOON_MS = 15_000;

const requests = new PushRequests();

/** A server with the instance, which may publish as often as it likes. */
export function startPush(
  config: Readonly<Record<string, unknown>> = {},
  options: FanfareOptions = {},
): Promise<Fanfare> {
  const settings = { ...instanceSettings(), limits: { publishesPerSecond: 0 } };
  return startFanfare({ ...options, config: { push: pushSettings(settings), ...config } });
}

/** What was accepted before the trouble. */
export interface Accepted {
  readonly publishId: string;
  readonly deviceId: string;
  readonly repeatable: RawRequest;
}

/** Registers a device with interests and a user, and publishes. */
export async function acceptSome(server: Fanfare): Promise<Accepted> {
  await using connection = await PushConnection.open(server);
  const { id } = await connection.requestOk(requests.registerFcm(`fcm:${newMarker()}`));
  const deviceId = String(id);
  await connection.requestOk(requests.setInterests(deviceId, ['one', 'two']));
  await connection.requestOk(requests.setUser(deviceId, 'ann'));
  const body = markedPublish(newMarker());
  const repeatable = requests.publish(body, { idempotencyKey: newMarker() });
  const { publishId } = await connection.requestOk(repeatable);
  return { publishId: String(publishId), deviceId, repeatable };
}

/** Fails unless all of it is as it was accepted. */
export async function expectKept(server: Fanfare, accepted: Accepted): Promise<void> {
  const { publishId, deviceId, repeatable } = accepted;
  await using connection = await PushConnection.open(server);
  expect(await connection.requestOk(requests.readPublish(publishId))).toMatchObject({ publishId });
  expect(await connection.requestOk(repeatable)).toEqual({ publishId });
  expect(await connection.requestOk(requests.readDevice(deviceId))).toMatchObject({
    userId: 'ann',
  });
  expect(await connection.requestOk(requests.readInterests(deviceId))).toMatchObject({
    interests: ['one', 'two'],
  });
}

/** Every kind of request that needs the store: about what was accepted, and about what does not exist. */
export function allRequests({ publishId, deviceId, repeatable }: Accepted): readonly RawRequest[] {
  const report = { event: 'delivery', publishId, deviceId, timestampSecs: 1_800_000_000 };
  return [
    requests.publish(markedPublish(newMarker())),
    requests.publish(markedPublish(newMarker(), { users: ['ann'] })),
    repeatable,
    requests.readPublish(publishId),
    requests.readPublish('pubid-00000000-0000-4000-8000-000000000000'),
    requests.registerFcm(`fcm:${newMarker()}`),
    requests.registerWeb(newMarker()),
    requests.readDevice(deviceId),
    requests.readDevice('fcm-00000000-0000-4000-8000-000000000000'),
    requests.readInterests(deviceId),
    requests.setInterests(deviceId, ['three']),
    requests.addInterest(deviceId, 'three'),
    requests.setUser(deviceId, 'ann'),
    requests.deleteDevice(deviceId),
    requests.deleteUser('ann'),
    requests.report(report),
    requests.report({ ...report, event: 'open', publishId: 'unknown' }),
  ];
}

/** Fails unless each of these is refused for now, for one reason in plain words. */
export async function expectRefused(
  server: Fanfare,
  asked: readonly RawRequest[],
  why: RegExp,
): Promise<void> {
  await using connection = await PushConnection.open(server);
  for (const request of asked) {
    expectUnavailable(await connection.request(request), why);
  }
}

export function expectUnavailable({ status, retryAfter, json }: PushAnswer, why: RegExp): void {
  expect({ status, retryAfter, json }).toEqual({
    status: 503,
    retryAfter: '5',
    json: {
      error: 'Service Unavailable',
      description: expect.stringMatching(
        new RegExp(`^The store cannot be used now: (?:${why.source})$`),
      ),
    },
  });
}

/** Publishes until the answer has this status; returns the ids of the publishes that were accepted meanwhile. */
export async function publishesUntil(server: Fanfare, wanted: 200 | 503): Promise<string[]> {
  const deadlineMs = Date.now() + SOON_MS;
  const ids: string[] = [];
  for (;;) {
    const received = await requestPush(server, requests.publish(markedPublish(newMarker())));
    if (received.status === 200) ids.push(String(received.json['publishId']));
    else expect(received.status).toBe(503);
    if (received.status === wanted) return ids;
    if (Date.now() > deadlineMs) throw new Error(`Publishing never came to ${wanted}`);
    await Bun.sleep(10);
  }
}

/** Fails unless there is each of these publishes. */
export async function expectPublishes(server: Fanfare, ids: readonly string[]): Promise<void> {
  await using connection = await PushConnection.open(server);
  for (const id of ids) {
    expect(await connection.requestOk(requests.readPublish(id))).toMatchObject({ publishId: id });
  }
}
