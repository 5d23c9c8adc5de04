import { Database } from 'bun:sqlite';
import { describe, expect, it } from 'bun:test';
import {
  markedPublish,
  newMarker,
  PushConnection,
  PushRequests,
  requestPush,
} from '../../../testing/clients/push-requests.ts';
import type { RawRequest } from '../../../testing/clients/raw-http.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../../testing/servers/push-server.ts';
import { fanfare } from '../../cli/run-fanfare.ts';
import { storeOf } from '../store-trouble.ts';
import { brokenRows, countOf, openRows } from './rows.ts';

const LONG_MS = 180_000;

const DEVICES = 4_000;
const INTERESTS = 10;
const USER_DEVICES = 100;
const USER_INTERESTS = 400;

const requests = new PushRequests();

interface Crowd {
  readonly instance: number;
  readonly devices: number;
  readonly interests: number;
  readonly userId: string | null;
}

/** Writes devices into the store of a server, which takes long by its API. */
function addDevices(server: Fanfare, { instance, devices, interests, userId }: Crowd): void {
  using store = new Database(storeOf(server.directory));
  store.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF');
  const addDevice = store.query<{ number: number }, [number, string, string | null]>(
    `INSERT INTO devices (instance, id, platform, token_identity, user_id, registered_at, seen_at,
      token, metadata, sdk) VALUES (?1, 'fcm-' || ?2, 'fcm', ?2, ?3, 0, 0, ?2, '{}', '')
      RETURNING number`,
  );
  const addInterest = store.query(
    'INSERT INTO device_interests (instance, interest, device) VALUES (?, ?, ?)',
  );
  store.transaction(() => {
    for (let n = 0; n < devices; n++) {
      const number = addDevice.get(instance, crypto.randomUUID(), userId)?.number ?? 0;
      for (let i = 0; i < interests; i++) addInterest.run(instance, `room-${n % 7}-${i}`, number);
    }
    store
      .query('UPDATE instance_numbers SET devices = devices + ? WHERE number = ?')
      .run(devices, instance);
  })();
}

function numberOf(server: Fanfare, id: string): number {
  using rows = openRows(server);
  return countOf(rows, `SELECT number FROM instance_numbers WHERE id = '${id}'`);
}

/** The pause between two publishes. Without it, the test would take all of both cores. */
const PAUSE_MS = 5;

/** Publishes, one after the other. */
class Publishing {
  private readonly connection: PushConnection;

  constructor(connection: PushConnection) {
    this.connection = connection;
  }

  /** Publishes again after 503, as libraries do: the command line may be writing to the store. */
  async once(): Promise<void> {
    let status = 503;
    while (status === 503) {
      const publish = requests.publish(markedPublish(newMarker()));
      ({ status } = await this.connection.request(publish));
      await Bun.sleep(PAUSE_MS);
    }
  }

  async during<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const done = work.finally(() => {
      over = true;
    });
    while (!over) await this.once();
    return await done;
  }
}

/** Repeats a request while another process holds the store locked, as we do to fill it, like libraries do. */
async function isDone(connection: PushConnection, request: RawRequest): Promise<void> {
  let status = 503;
  while (status === 503) ({ status } = await connection.request(request));
  expect(status).toBe(200);
}

/** The number of rows of deleted things that the sweeps must remove. */
function leftOf(server: Fanfare, instance: number): number {
  using rows = openRows(server);
  const counts = [
    ...['devices', 'device_interests', 'publishes', 'publish_keys'].map(
      (table) => `(SELECT COUNT(*) FROM ${table} WHERE instance = ${instance})`,
    ),
    '(SELECT COUNT(*) FROM removed_devices)',
    '(SELECT COUNT(*) FROM instance_numbers WHERE id IS NULL)',
  ];
  return countOf(rows, `SELECT ${counts.join(' + ')}`);
}

/** Publishes until nothing is left; returns how often the number of rows fell between answered publishes. */
async function publishUntilGone(server: Fanfare, instance: number, publishes: Publishing) {
  const seen = new Set<number>();
  for (let left = 1; left > 0; ) {
    for (let n = 0; n < 4; n++) await publishes.once();
    left = leftOf(server, instance);
    seen.add(left);
  }
  using rows = openRows(server);
  expect(brokenRows(rows)).toEqual([]);
  return seen.size;
}

/** A server that publishes at one instance, and has another one. */
async function start() {
  const busy = { ...instanceSettings(), limits: { publishesPerSecond: 0 } };
  const other = { ...instanceSettings(), id: crypto.randomUUID(), secretKeys: ['another'] };
  const server = await startFanfare({ config: { push: pushSettings(busy, other) } });
  const publishes = new Publishing(await PushConnection.open(server));
  return { server, publishes, other: other.id };
}

describe('publishes do not wait for', () => {
  it.concurrent(
    'an instance with many devices that is deleted, and nothing is left of it',
    async () => {
      const { server, publishes } = await start();
      await using _ = server;
      const instances = async (...args: string[]) => {
        const config = `${server.directory}/config.json`;
        const given = ['instances', ...args, '--json', '--config', config];
        return JSON.parse((await publishes.during(fanfare(server.directory, given))).stdout);
      };
      const { id, secretKeys } = await instances('create');
      while (numberOf(server, id) === 0) await publishes.once();
      const instance = numberOf(server, id);
      addDevices(server, { instance, devices: DEVICES, interests: INTERESTS, userId: null });
      const doomed = new PushRequests({ id, secretKey: secretKeys[0] });
      const options = { idempotencyKey: 'key' };
      await requestPush(server, doomed.publish(markedPublish(newMarker()), options));

      const { devices } = await instances('delete', id);
      expect(devices).toBe(DEVICES);

      const timesLess = await publishUntilGone(server, instance, publishes);
      expect(timesLess).toBeGreaterThan(4);
    },
    LONG_MS,
  );

  it.concurrent(
    'a user with many interests who is deleted, and nothing is left of them',
    async () => {
      const { server, publishes, other } = await start();
      await using _ = server;
      const instance = numberOf(server, other);
      const user = { devices: USER_DEVICES, interests: USER_INTERESTS, userId: 'ann' };
      addDevices(server, { instance, ...user });
      await using backend = await PushConnection.open(server);
      const ofOther = new PushRequests({ id: other, secretKey: 'another' });

      await publishes.during(isDone(backend, ofOther.deleteUser('ann')));

      const timesLess = await publishUntilGone(server, instance, publishes);
      expect(timesLess).toBeGreaterThan(4);
    },
    LONG_MS,
  );
});
