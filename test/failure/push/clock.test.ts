import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import {
  markedPublish,
  newMarker,
  PushConnection,
  PushRequests,
  requestPush,
} from '../../../testing/clients/push-requests.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, spawnFanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../../testing/servers/push-server.ts';

const LONG_MS = 180_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const PROGRAM = `${import.meta.dir}/../clock-server.fixture.ts`;

const requests = new PushRequests();

/** A server whose clock can be put wrong, and which may publish this often in a second. */
function start(publishesPerSecond = 0, environment: Readonly<Record<string, string>> = {}) {
  const settings = { ...instanceSettings(), limits: { publishesPerSecond } };
  const config = { push: pushSettings(settings) };
  return startFanfare({ config, environment, program: PROGRAM });
}

/** The same server, killed and started again with a clock that is this far off. */
async function startAgain(server: Fanfare, offsetMs: number): Promise<Fanfare> {
  await server.stop('SIGKILL');
  return await spawnFanfare(
    ['serve', '--config', join(server.directory, 'config.json')],
    server.directory,
    { CLOCK_OFFSET_MS: String(offsetMs) },
    { program: PROGRAM },
  );
}

/** How far the clock of a server is off, read from the time of a publish. */
async function offsetOf(server: Fanfare): Promise<number> {
  const { publishId } = await publish(server);
  const { json } = await requestPush(server, requests.readPublish(publishId));
  return Date.parse(String(json['createdAt'])) - Date.now();
}

async function publish(server: Fanfare, more: object = {}): Promise<{ publishId: string }> {
  const body = { ...markedPublish(newMarker()), ...more };
  const { status, json } = await requestPush(server, requests.publish(body));
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(json)}`);
  return { publishId: String(json['publishId']) };
}

const isNear = (ms: number, wantedMs: number) => Math.abs(ms - wantedMs) < MINUTE_MS;

describe('where the clock of a server', () => {
  it.concurrent.each([
    ['goes back an hour', -HOUR_MS, false],
    ['goes on an hour', HOUR_MS, true],
  ])(
    '%s over a restart, publishes keep their time, and keys their publish',
    async (_, offsetMs, firstIsDue) => {
      await using server = await start();
      const times = [30 * MINUTE_MS, 2 * HOUR_MS].map((aheadMs) =>
        new Date(Date.now() + aheadMs).toISOString(),
      );
      const later: string[] = [];
      for (const sendAt of times) later.push((await publish(server, { sendAt })).publishId);
      const repeatable = requests.publish(markedPublish(newMarker()), { idempotencyKey: 'key' });
      const { json: first } = await requestPush(server, repeatable);

      await using again = await startAgain(server, offsetMs);
      expect(isNear(await offsetOf(again), offsetMs)).toBe(true);
      const found = await Promise.all(
        later.map((id) => requestPush(again, requests.readPublish(id))),
      );
      expect(found.map(({ json }) => json['sendAt'])).toEqual(times);
      // A publish that is due may be in any state.
      const isDue = found.map(({ json }) => json['state'] !== 'scheduled');
      expect(isDue).toEqual([firstIsDue, false]);
      expect(await requestPush(again, repeatable)).toMatchObject({ status: 200, json: first });
      // By its own clock.
      const ahead = new Date(Date.now() + offsetMs + MINUTE_MS * 5).toISOString();
      const { publishId } = await publish(again, { sendAt: ahead });
      const { json } = await requestPush(again, requests.readPublish(publishId));
      expect(json).toMatchObject({ state: 'scheduled', sendAt: ahead });
    },
    LONG_MS,
  );

  it.concurrent(
    'is a day ahead, an idempotency key has expired',
    async () => {
      await using server = await start();
      const repeatable = requests.publish(markedPublish(newMarker()), { idempotencyKey: 'key' });
      const { json: first } = await requestPush(server, repeatable);
      await using again = await startAgain(server, 24 * HOUR_MS + MINUTE_MS);
      const second = await requestPush(again, repeatable);
      expect(second.status).toBe(200);
      expect(second.json).not.toEqual(first);
      expect(await requestPush(again, repeatable)).toEqual(second);
    },
    LONG_MS,
  );

  it.concurrent.each([
    ['back', -HOUR_MS],
    ['ahead', HOUR_MS],
  ])(
    'jumps %s while it runs, publishing continues, and no id comes twice',
    async (_, jumpMs) => {
      await using server = await start(20, { CLOCK_JUMP_MS: String(jumpMs) });
      const ids: string[] = [];
      /** As fast as the limit lets. */
      const publishSome = async () => {
        await using connection = await PushConnection.open(server);
        for (let refused = 0, accepted = 0; refused === 0 || accepted < 20; ) {
          const { status, json } = await connection.request(requests.publish(markedPublish('x')));
          if (status === 200) {
            ids.push(String(json['publishId']));
            accepted += 1;
          } else {
            expect(status).toBe(429);
            refused += 1;
          }
        }
      };
      await publishSome();
      for (let jumps = 1; jumps <= 2; jumps++) {
        server.process.kill('SIGUSR2');
        await eventually(
          () => clockOf(server),
          (offsetMs) => isNear(offsetMs, jumps * jumpMs),
        );
        await publishSome();
      }
      expect(new Set(ids).size).toBe(ids.length);
      const found = await Promise.all(
        ids.map((id) => requestPush(server, requests.readPublish(id))),
      );
      expect(found.map(({ status }) => status)).toEqual(ids.map(() => 200));
    },
    LONG_MS,
  );

  it.concurrent(
    'differs from that of a backend, tokens of users are valid a minute longer than they state',
    async () => {
      await using server = await start();
      const setUser = async (to: Fanfare, endsInSeconds: number) => {
        await using connection = await PushConnection.open(to);
        const { id } = await connection.requestOk(requests.registerFcm(`fcm:${newMarker()}`));
        const ends = Math.floor(Date.now() / 1000) + endsInSeconds;
        return (await connection.request(requests.setUser(String(id), 'ann', ends))).status;
      };
      expect(await setUser(server, -30)).toBe(200);
      expect(await setUser(server, -90)).toBe(401);

      await using ahead = await startAgain(server, HOUR_MS);
      expect(await setUser(ahead, 24 * 3600)).toBe(200);
      expect(await setUser(ahead, 3600 - 30)).toBe(200);
      expect(await setUser(ahead, 3600 - 90)).toBe(401);

      await using behind = await startAgain({ ...ahead, directory: server.directory }, -HOUR_MS);
      expect(await setUser(behind, 24 * 3600)).toBe(200);
      expect(await setUser(behind, -3600)).toBe(200);
    },
    LONG_MS,
  );
});

it('accepts reports of devices whatever their clocks show', async () => {
  await using server = await start();
  await using connection = await PushConnection.open(server);
  const clocks = [0, 1, 946_684_800, Math.floor(Date.now() / 1000), 4_102_444_800, 253_402_300_799];
  const devices: [clock: number, id: string][] = [];
  for (const clock of clocks) {
    const { id } = await connection.requestOk(requests.registerFcm(`fcm:${clock}`));
    await connection.requestOk(requests.setInterests(String(id), ['news']));
    devices.push([clock, String(id)]);
  }
  const { publishId } = await publish(server, { fcm: {} });
  const planned = async () => {
    const { platforms } = await connection.requestOk(requests.readPublish(publishId));
    return (platforms as { fcm: { planned: number } }).fcm.planned;
  };
  await eventually(planned, (devices) => devices === clocks.length);
  for (const [timestampSecs, deviceId] of devices) {
    for (const event of ['delivery', 'open']) {
      await connection.requestOk(requests.report({ event, publishId, deviceId, timestampSecs }));
    }
  }
  expect(await connection.requestOk(requests.readPublish(publishId))).toMatchObject({
    delivered: clocks.length,
    opened: clocks.length,
  });
});

/** How far the clock of a server is off, read from its log. Makes a request that is logged. */
async function clockOf(server: Fanfare): Promise<number> {
  const before = server.output.stderr.length;
  await requestPush(server, requests.readPublish('pubid-00000000-0000-4000-8000-000000000000'));
  const line = server.output.stderr.slice(before).trimEnd().split('\n').at(-1) ?? '';
  return line === '' ? Number.NaN : Date.parse(JSON.parse(line).time) - Date.now();
}
