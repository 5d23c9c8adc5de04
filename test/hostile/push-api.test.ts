import { Database } from 'bun:sqlite';
import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import {
  ask,
  device,
  INSTANCE,
  NEIGHBOUR,
  publish,
  registered,
  registration,
  startPush,
  TO_INTERESTS,
} from '../protocol/push/exchange.ts';
import { type Attack, attack, PUBLISHES, publishMany, type Seen } from './push-neighbour.ts';

/** The address of attackers. Honest clients use another one. */
const ATTACKER = '127.0.0.2';

/** Each has one request at a time, so that together they exceed a rate on any machine. */
const CANCELLING = 40;

const LONG_MS = 180_000;

/** Expects that the server did little else before it answered: it takes about 20 ms, and slow processors have a wide bound. */
function expectUnharmed({ median, failed }: Seen): void {
  expect(failed).toEqual([]);
  expect(median).toBeLessThan(400);
}

function answersTo(hostile: Attack): number {
  return Object.values(hostile.counts().status).reduce((sum, count) => sum + count, 0);
}

/** A device of the attacked instance that registers, and then changes and reads its interests until it is stopped. */
function honestDevice(server: Fanfare): { stop(): Promise<readonly number[]> } {
  const statuses: number[] = [];
  let isOver = false;
  const live = async () => {
    const id = await registered(server, 'fcm');
    for (let turn = 0; !isOver; turn++) {
      const path = device(`fcm/${id}/interests`);
      const body = { interests: [`turn-${turn}`] };
      statuses.push((await ask(server, 'PUT', path, { body })).status);
      statuses.push((await ask(server, 'GET', path)).status);
      await Bun.sleep(50);
    }
  };
  const living = live();
  return {
    async stop() {
      isOver = true;
      await living;
      return statuses;
    },
  };
}

describe('a backend of another instance and a device of the attacked one are served as usual', () => {
  it.each([
    ['registers, sets interests and reports as fast as it can', 'write', 50],
    ['holds bodies of a MB, and small ones to fill what memory is left', 'hold', 385],
    ['pipelines 32 reports on each of 330 connections', 'pipeline', 330],
  ] as const)(
    'while one address %s',
    async (_, kind, connections) => {
      await using server = await startPush();
      await using hostile = attack(server, {
        instance: INSTANCE.id,
        from: [ATTACKER],
        attack: kind,
        connections,
      });
      await hostile.until(
        ({ sent, status }) => sent >= connections && (kind !== 'hold' || (status['503'] ?? 0) > 50),
      );
      const honest = honestDevice(server);
      const before = answersTo(hostile);
      const during = await publishMany(server, NEIGHBOUR);
      const answersPerPublish = (answersTo(hostile) - before) / PUBLISHES;
      expect(new Set(await honest.stop())).toEqual(new Set([200]));
      expectUnharmed(during);
      // Without turns, a publish waits until all that the attacker has sent is answered.
      expect(answersPerPublish).toBeLessThan((32 * connections) / 4);
    },
    LONG_MS,
  );
});

it(
  'a backend publishes as usual while another one cancels its publishes all the time, and the log has one line per cancelled publish',
  async () => {
    // So few that the attack exceeds them on any machine.
    const perSecond = 50;
    const limits = { backendRequestsPerSecond: perSecond };
    await using server = await startPush({ instance: { limits } });
    const beganMs = performance.now();
    await using hostile = attack(server, {
      instance: INSTANCE.id,
      secretKey: INSTANCE.secretKey,
      from: [ATTACKER],
      attack: 'cancel',
      connections: CANCELLING,
    });
    await hostile.until(({ status }) => (status['429'] ?? 0) > 50);
    expectUnharmed(await publishMany(server, NEIGHBOUR));
    // Each connection may publish once. The burst of cancellations is a second's worth.
    const atOnce = CANCELLING + perSecond;
    await hostile.until(({ status }) => (status['200'] ?? 0) >= atOnce + perSecond);
    const answered = hostile.counts().status['200'];
    const seconds = (performance.now() - beganMs) / 1000;
    expect(answered).toBeLessThanOrEqual(atOnce + perSecond * seconds);
    // Each connection of the attack cancels one publish repeatedly.
    await server.logged(/Publish cancelled/);
    const lines = server.output.stderr.match(/Publish cancelled/g) ?? [];
    expect(lines.length).toBeLessThanOrEqual(CANCELLING);
  },
  LONG_MS,
);

describe('one address', () => {
  it(
    'changes no more rows than the limits allow, however many requests it sends',
    async () => {
      const addressLimits = { rowsPerSecond: 100 };
      await using server = await startPush({ push: { addressLimits } });
      const beganMs = performance.now();
      {
        await using hostile = attack(server, {
          instance: INSTANCE.id,
          from: [ATTACKER],
          attack: 'write',
          connections: 20,
        });
        await hostile.until(({ status }) => (status['429'] ?? 0) > 200);
      }
      await server.stop();
      const seconds = (performance.now() - beganMs) / 1000;
      using store = new Database(join(server.directory, 'fanfare.db'), { readonly: true });
      const rows = (table: string) =>
        store.query<{ rows: number }, []>(`SELECT COUNT(*) AS rows FROM ${table}`).get()?.rows ?? 0;
      // The burst is a minute's worth. The long token of a device counts as four rows.
      const changed = 7 * rows('devices') + rows('device_interests');
      expect(changed).toBeGreaterThan(5_000);
      expect(changed).toBeLessThanOrEqual(100 * (60 + seconds));
    },
    LONG_MS,
  );

  it('cannot stop publishing by registering as many devices as the instance may have', async () => {
    const limits = { publishesPerSecond: 0, devices: 20 };
    await using server = await startPush({ instance: { limits } });
    const kept = registration('fcm');
    expect((await ask(server, 'POST', device('fcm'), { body: kept })).status).toBe(200);
    const statuses = new Set<number>();
    for (let n = 0; n < 40; n++) {
      const body = registration('fcm');
      statuses.add((await ask(server, 'POST', device('fcm'), { body, from: ATTACKER })).status);
    }
    expect(statuses).toEqual(new Set([200, 429]));
    expect((await publish(server, '/interests', TO_INTERESTS)).status).toBe(200);
    // A registered device stays, also when its app is installed again.
    expect((await ask(server, 'POST', device('fcm'), { body: kept })).status).toBe(200);
  });
});

describe('the rate limits of an instance', () => {
  const ATTACKERS = 20;

  it(
    'leave room for new devices while 20 addresses send as much as they can',
    async () => {
      const limits = { deviceRowsPerSecond: 100 };
      await using server = await startPush({ instance: { limits } });
      await using hostile = attack(server, {
        instance: INSTANCE.id,
        from: Array.from({ length: ATTACKERS }, (_, n) => `127.0.5.${n + 1}`),
        attack: 'rows',
        connections: ATTACKERS,
      });
      await hostile.until(({ status }) => (status['429'] ?? 0) > 200);
      const statuses: number[] = [];
      for (let n = 1; n <= 15; n++) {
        const from = `127.0.6.${n}`;
        const registered = await ask(server, 'POST', device('fcm'), {
          body: registration('fcm'),
          from,
        });
        statuses.push(registered.status);
        const id = (registered.json as { id?: string } | undefined)?.id;
        const body = { interests: ['news', 'sport'] };
        statuses.push(
          (await ask(server, 'PUT', device(`fcm/${id}/interests`), { body, from })).status,
        );
        await Bun.sleep(100);
      }
      expect(new Set(statuses)).toEqual(new Set([200]));
    },
    LONG_MS,
  );
});
