import { describe, expect, it } from 'bun:test';
import { SQL } from 'bun';
import { NO_CLIENT_TLS } from '../../../src/runtime/tls/certificate.ts';
import { openDatabase } from '../../../src/stores/database/database.ts';
import { examinePostgres } from '../../../src/stores/database/examine.ts';
import {
  markedPublish,
  newMarker,
  PushConnection,
  PushRequests,
  requestPush,
} from '../../../testing/clients/push-requests.ts';
import { startPgBouncer } from '../../../testing/databases/pgbouncer.ts';
import {
  newStorePostgres,
  ownPostgres,
  throwAwayPostgres,
} from '../../../testing/databases/postgres.ts';
import { eventually } from '../../../testing/eventually.ts';
import { runs } from '../../../testing/long-run.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../../testing/servers/push-server.ts';
import { fanfare } from '../../cli/run-fanfare.ts';
import { becomes, chat } from '../store-trouble.ts';
import {
  acceptSome,
  allRequests,
  expectKept,
  expectRefused,
  expectUnavailable,
  startPush,
} from './trouble.ts';

const LONG_MS = 180_000;
const BACKENDS = 10;
/** The pause of a backend between two publishes. */
const PAUSE_MS = 50;
/** Answers of each kind that backends get before the next trouble. */
const ANSWERS = runs(30, 100);

const requests = new PushRequests();
const nothing = async () => undefined;

/** Starts backends that publish until they are stopped; keeps the answer to each publish, by its marker. */
function startBackends(server: Fanfare) {
  const answers = new Map<string, { readonly status: number; readonly publishId: unknown }>();
  const statuses = new Set<number>();
  let over = false;
  let received = Promise.withResolvers<void>();
  const run = async () => {
    await using connection = await PushConnection.open(server);
    while (!over) {
      const marker = newMarker();
      const answer = await connection.request(requests.publish(markedPublish(marker)));
      if (answer.status !== 200) expectUnavailable(answer, /[a-z][a-z ]+/);
      answers.set(marker, { status: answer.status, publishId: answer.json['publishId'] });
      statuses.add(answer.status);
      received.resolve();
      received = Promise.withResolvers();
      await Bun.sleep(PAUSE_MS);
    }
  };
  const all = Array.from({ length: BACKENDS }, run);
  return {
    /** Waits for as many more answers with this status. */
    async receive(status: number, times: number) {
      const count = () => [...answers.values()].filter((one) => one.status === status).length;
      for (const enough = count() + times; count() < enough; ) await received.promise;
    },
    async stop() {
      over = true;
      await Promise.all(all);
      return answers;
    },
  };
}

/** How often each marker is in the store. */
async function publishesIn(url: string): Promise<ReadonlyMap<string, readonly string[]>> {
  await using sql = new SQL(url, { max: 1 });
  const rows: { id: string; marker: string }[] = await sql`
    SELECT id, substring(outline FROM 'marker-[0-9a-f-]+') AS marker FROM publishes`;
  const groups = Map.groupBy(rows, ({ marker }) => marker);
  return new Map([...groups].map(([marker, some]) => [marker, some.map(({ id }) => id)]));
}

describe('the push side of a server whose PostgreSQL', () => {
  it.concurrent(
    'is killed while backends publish refuses for now, loses nothing, and keeps nothing twice',
    async () => {
      await using postgres = await ownPostgres();
      await using server = await startPush({ store: { url: postgres.url } });
      const accepted = await acceptSome(server);
      const backends = startBackends(server);
      for (let round = 0; round < 2; round++) {
        await backends.receive(200, ANSWERS);
        postgres.kill();
        await backends.receive(503, ANSWERS);
        const why = /the database cannot be reached/;
        await expectRefused(server, allRequests(accepted), why);
        expect(await becomes(server, /^503.*store:/s, nothing)).toMatch(why);
        await postgres.start();
      }
      await backends.receive(200, ANSWERS);
      const answers = await backends.stop();

      await expectKept(server, accepted);
      const kept = await publishesIn(postgres.url);
      const wrong = [...answers].filter(([marker, { status, publishId }]) => {
        const ids = kept.get(marker) ?? [];
        // The commit of one that was refused may have come before the end of the connection.
        return status === 200 ? ids.join() !== publishId : ids.length > 1;
      });
      expect(wrong).toEqual([]);
      expect(await becomes(server, /^200/, nothing)).toBe('200 ready\n');
    },
    LONG_MS,
  );
});

describe('a server behind PgBouncer', () => {
  it.concurrent.each(['session', 'transaction'] as const)(
    'in %s mode starts, says so, and serves; and goes on when that restarts under load',
    async (mode) => {
      await using store = await throwAwayPostgres();
      await using bouncer = await startPgBouncer(store.url, mode);
      await using server = await startPush({ store: { url: bouncer.pooled(store.url) } });
      const line = await server.logged(/PostgreSQL is reached through a pooler/);
      expect(JSON.parse(line)).toMatchObject({ level: 'info', mode });
      const examined = { url: bouncer.pooled(store.url), tls: NO_CLIENT_TLS };
      const findings = await Array.fromAsync(examinePostgres(examined));
      expect(findings.at(-1)).toMatchObject({
        name: 'store-pooler',
        detail: expect.stringContaining(`a pooler in ${mode} mode is in between`),
      });
      const accepted = await acceptSome(server);
      await using talk = await chat(server);
      const backends = startBackends(server);
      await backends.receive(200, 2 * ANSWERS);
      await bouncer.restart();
      await talk.say();
      await backends.receive(200, 2 * ANSWERS);
      const answers = await backends.stop();

      await expectKept(server, accepted);
      const kept = await publishesIn(store.url);
      const wrong = [...answers].filter(([marker, { status, publishId }]) => {
        const ids = kept.get(marker) ?? [];
        return status === 200 ? ids.join() !== publishId : ids.length > 1;
      });
      expect(wrong).toEqual([]);
      expect(await becomes(server, /^200/, talk.say)).toBe('200 ready\n');
      const warned = server.output.stderr.split('\n').filter((one) => one.includes('"warn"'));
      expect(warned.join()).toContain('ALTER ROLE');
    },
    LONG_MS,
  );

  it.concurrent('that ignores settings makes them itself, also if the role has one of them', async () => {
    await using store = await throwAwayPostgres({ statement_timeout: '10s' });
    const ignored = 'statement_timeout, idle_in_transaction_session_timeout, lock_timeout';
    const more = [`ignore_startup_parameters = ${ignored}`];
    await using bouncer = await startPgBouncer(store.url, 'session', more);
    await using database = await openDatabase(bouncer.pooled(store.url));
    expect(database.pooler).toEqual({ mode: 'session', limitsReads: true });
    const idle = await database.write(async (sql) => [
      ...(await sql`SHOW idle_in_transaction_session_timeout`),
    ]);
    expect(idle).toEqual([{ idle_in_transaction_session_timeout: '15s' }]);
  });

  it.concurrent('in statement mode does not start', async () => {
    await using store = await throwAwayPostgres();
    await using bouncer = await startPgBouncer(store.url, 'statement');
    await expect(openDatabase(bouncer.pooled(store.url))).rejects.toThrow(
      /cannot be opened: transaction blocks not allowed in statement pooling mode$/,
    );
  });
});

describe('two servers on one PostgreSQL', () => {
  it.concurrent(
    'have the same devices and publishes, and accept a request once between them',
    async () => {
      await using store = await newStorePostgres();
      const [one, two] = await startTwo({ ...instanceSettings(), limits: NO_LIMIT }, store.url);
      await using stop = new AsyncDisposableStack();
      stop.use(one);
      stop.use(two);

      const accepted = await acceptSome(one);
      await expectKept(two, accepted);
      await using connection = await PushConnection.open(two);
      await connection.requestOk(requests.setInterests(accepted.deviceId, ['three']));
      expect(
        (await requestPush(one, requests.readInterests(accepted.deviceId))).json,
      ).toMatchObject({
        interests: ['three'],
      });

      // Both at the same moment, and each time for the first time.
      for (let n = 0; n < 20; n++) {
        const body = markedPublish(newMarker());
        const request = requests.publish(body, { idempotencyKey: `key-${n}` });
        const received = await Promise.all(
          [one, two, one, two].map((to) => requestPush(to, request)),
        );
        expect(received.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
        expect(new Set(received.map(({ json }) => json['publishId'])).size).toBe(1);
        const other = requests.publish(markedPublish(newMarker()), { idempotencyKey: `key-${n}` });
        expect(await requestPush(n % 2 === 0 ? one : two, other)).toMatchObject({ status: 422 });
      }
      // One token on both: one device.
      for (let n = 0; n < 20; n++) {
        const register = requests.registerFcm(`fcm:${n}`);
        const received = await Promise.all([one, two].map((to) => requestPush(to, register)));
        const [id, ...others] = new Set(received.map(({ json }) => String(json['id'])));
        expect(others).toEqual([]);
        expect(await requestPush(one, requests.readDevice(String(id)))).toMatchObject({
          status: 200,
        });
      }
      const kept = await publishesIn(store.url);
      expect([...kept.values()].filter((ids) => ids.length > 1)).toEqual([]);
      expect(kept.size).toBe(21);
    },
    LONG_MS,
  );

  // Not beside the others, which leave it few requests.
  it(
    'share what an instance may publish in a second',
    async () => {
      await using store = await newStorePostgres();
      const perSecond = 5;
      const limits = { publishesPerSecond: perSecond };
      const servers = await startTwo({ ...instanceSettings(), limits }, store.url);
      await using stop = new AsyncDisposableStack();
      for (const server of servers) stop.use(server);
      const startedAtMs = performance.now();
      let accepted = 0;
      const publishAll = async (server: Fanfare) => {
        await using connection = await PushConnection.open(server);
        for (let refused = 0; refused < 20 || performance.now() - startedAtMs < 5_000; ) {
          const { status } = await connection.request(requests.publish(markedPublish(newMarker())));
          expect([200, 429]).toContain(status);
          if (status === 200) accepted += 1;
          else refused += 1;
        }
      };
      await Promise.all(servers.map(publishAll));
      const seconds = (performance.now() - startedAtMs) / 1000;
      // Each begins with a full bucket. Without sharing, twice the rate would pass as well.
      const expected = 2 * perSecond + perSecond * seconds;
      expect(accepted).toBeGreaterThan(0.4 * expected);
      expect(accepted).toBeLessThan(1.25 * expected);
    },
    LONG_MS,
  );

  it.concurrent(
    'both see at once that the command line has changed the secret key of an instance',
    async () => {
      await using store = await newStorePostgres();
      await using one = await startFanfare({ config: { store: { url: store.url } } });
      const { directory } = one;
      const instances = async (...args: string[]) => {
        const config = `${directory}/config.json`;
        const ended = await fanfare(directory, [
          'instances',
          ...args,
          '--json',
          '--config',
          config,
        ]);
        expect(ended.exitCode).toBe(0);
        return JSON.parse(ended.stdout);
      };
      const { id, secretKeys } = await instances('create');
      await using two = await startFanfare({ config: { store: { url: store.url } } });
      const [old] = secretKeys;
      const status = async (server: Fanfare, secretKey: string) => {
        const request = new PushRequests({ id, secretKey }).publish(markedPublish(newMarker()));
        return (await requestPush(server, request)).status;
      };
      const becomesOnBoth = async (secretKey: string, wanted: number) => {
        for (const server of [one, two]) {
          await eventually(
            () => status(server, secretKey),
            (received) => received === wanted,
          );
        }
      };
      await becomesOnBoth(old, 200);
      const rotated: { secretKeys: string[] } = await instances('rotate', id);
      // Of the others, it prints the beginning.
      const added = rotated.secretKeys.at(-1) ?? '';
      await becomesOnBoth(added, 200);
      await becomesOnBoth(old, 200);
      await instances('rotate', id, '--remove', old);
      await becomesOnBoth(old, 401);
      await becomesOnBoth(added, 200);
      await instances('delete', id);
      await becomesOnBoth(added, 404);
    },
    LONG_MS,
  );
});

const NO_LIMIT = { publishesPerSecond: 0 };

/** Two servers that have the same instance. */
async function startTwo(instance: object, url: string): Promise<readonly [Fanfare, Fanfare]> {
  const config = { push: pushSettings(instance), store: { url } };
  return await Promise.all([startFanfare({ config }), startFanfare({ config })]);
}
