import { expect, it } from 'bun:test';
import { SQL } from 'bun';
import { inDialect } from '../../src/stores/database/dialect.ts';
import { migrations } from '../../src/stores/database/migrations.ts';
import {
  markedPublish,
  newMarker,
  PushConnection,
  PushRequests,
  requestPush,
} from '../../testing/clients/push-requests.ts';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import { PROGRAM, startFanfare } from '../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';
import { newApp } from '../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { FREE_PORTS, temporaryDirectory } from '../cli/run-fanfare.ts';

/** A table that only the newest release creates. */
const NEW_TABLE = 'rate_uses';

/** Makes the tables of the release before that. */
async function makeBefore(sql: SQL): Promise<void> {
  await sql`CREATE TABLE migrations (number INTEGER PRIMARY KEY)`;
  const before = migrations.findIndex((statements) => statements.join().includes(NEW_TABLE));
  for (const [index, statements] of migrations.slice(0, before).entries()) {
    for (const statement of statements) await sql.unsafe(inDialect('postgres', statement));
    await sql`INSERT INTO migrations (number) VALUES (${index + 1})`;
  }
}

/** Holds every migration at that table, until the returned function is called. */
async function holdMigrations(sql: SQL): Promise<() => Promise<unknown>> {
  await sql.unsafe(`
    CREATE FUNCTION wait_for_test() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT 1 FROM pg_event_trigger_ddl_commands()
        WHERE object_identity = 'public.${NEW_TABLE}')
      THEN PERFORM pg_advisory_xact_lock(1);
      END IF;
    END $$`);
  await sql.unsafe('CREATE EVENT TRIGGER hold ON ddl_command_end EXECUTE FUNCTION wait_for_test()');
  await sql`SELECT pg_advisory_lock(1)`;
  return () => sql`SELECT pg_advisory_unlock(1)`;
}

/** Settles when this many servers wait for a lock. */
function waiting(sql: SQL, servers: number) {
  const ask = async () => {
    const [row]: { waiting: string }[] = await sql`
      SELECT COUNT(*) AS waiting FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return Number(row?.waiting);
  };
  return eventually(ask, (count) => count === servers);
}

it.each(['an empty database', 'a database of the release before'])(
  'three servers that start at the same moment on %s migrate it once, also after one was killed while it did',
  async (kind) => {
    await using store = await throwAwayPostgres();
    await using sql = new SQL(store.url, { max: 1 });
    if (kind !== 'an empty database') await makeBefore(sql);
    const resume = await holdMigrations(sql);
    using directory = temporaryDirectory();
    const killed = Bun.spawn([process.execPath, PROGRAM, 'serve'], {
      cwd: directory.path,
      env: { ...process.env, ...FREE_PORTS, FANFARE_STORE_URL: store.url },
      stdout: 'ignore',
      stderr: 'ignore',
    });
    await waiting(sql, 1);
    const config = { push: pushSettings(instanceSettings()), store: { url: store.url } };
    const starting = Promise.all([1, 2, 3].map(() => startFanfare({ config })));
    await waiting(sql, 4);
    killed.kill('SIGKILL');
    await killed.exited;
    await resume();
    await using parts = new AsyncDisposableStack();
    const servers = await starting;
    for (const server of servers) parts.use(server);

    const made: { number: number }[] = await sql`SELECT number FROM migrations ORDER BY number`;
    expect(made.map(({ number }) => number)).toEqual(migrations.map((_, index) => index + 1));
    const requests = new PushRequests();
    const request = requests.publish(markedPublish(newMarker()), { idempotencyKey: 'one' });
    const received = await Promise.all(servers.map((server) => requestPush(server, request)));
    expect(new Set(received.map(({ json }) => json['publishId'])).size).toBe(1);
    expect(received.map(({ status }) => status)).toEqual([200, 200, 200]);
  },
  60_000,
);

it('a server works beside a newer release that has added to every table', async () => {
  await using store = await throwAwayPostgres();
  using backend = startWebhookEndpoint();
  const config = {
    push: pushSettings(instanceSettings()),
    store: { url: store.url },
    webhooks: { allowPrivateAddresses: true },
  };
  await using before = await startFanfare({ config });
  await using sql = new SQL(store.url, { max: 1 });
  const tables: { name: string }[] = await sql`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`;
  for (const { name } of tables) {
    await sql`ALTER TABLE ${sql(name)} ADD COLUMN newer TEXT NOT NULL DEFAULT ''`;
  }
  await sql`INSERT INTO migrations (number) VALUES (999)`;
  // One that runs already, and one that is started again.
  await using after = await startFanfare({ config });
  const requests = new PushRequests();
  for (const server of [before, after]) {
    const webhook = { url: backend.url, events: ['channel_occupied'], batching: false };
    const app = await newApp(server, { webhooks: [webhook] });
    await using client = await app.connect();
    await client.subscribe('news');
    expect(await backend.events.next()).toMatchObject({ channel: 'news' });
    await using connection = await PushConnection.open(server);
    const { id } = await connection.requestOk(requests.registerFcm(`fcm:${server.port}`));
    await connection.requestOk(requests.setInterests(String(id), ['news']));
    const publish = requests.publish(markedPublish(newMarker()), { idempotencyKey: newMarker() });
    const { publishId } = await connection.requestOk(publish);
    const { state } = await eventually(
      () => connection.requestOk(requests.readPublish(String(publishId))),
      (status) => status['state'] === 'finished',
    );
    expect(state).toBe('finished');
  }
}, 180_000);
