import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { outboxSql } from '../../src/sources/schema.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { newSourceDatabase, type SourceDatabase } from '../../testing/databases/source.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { INSTANCE, instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';
import { appAt, TestApp } from '../../testing/servers/test-app.ts';
import { fanfare } from '../cli/run-fanfare.ts';

const PASSWORD = 'hunter2hunter2';
const SLOW = { id: '7', key: 'slow-slow-slow-slow', secret: 'secret-of-slow-slow' };
const POOR = { id: '8', key: 'poor-poor-poor-poor', secret: 'secret-of-poor-poor' };

let database: SourceDatabase;
let proxy: TcpProxy;
let server: Fanfare;

beforeAll(async () => {
  database = await newSourceDatabase();
  for (const schema of ['slow', 'poor', 'cut']) await database.sql.unsafe(outboxSql(schema));
  proxy = await TcpProxy.start(Number(new URL(database.url).port));
  // The database is away when the server starts.
  proxy.doesRefuse = true;
  const cutUrl = new URL(database.url);
  cutUrl.port = `${proxy.port}`;
  cutUrl.password = PASSWORD;
  server = await startFanfare({
    onlyOne: 'figures',
    moreApps: [
      { ...appOf(SLOW), limits: { triggersPerSecond: 5 } },
      { ...appOf(POOR), limits: { messagesPerDay: 2 } },
    ],
    config: {
      push: pushSettings(instanceSettings()),
      sources: [
        { url: database.url, app: APP.id, instance: INSTANCE.id },
        { url: database.url, app: SLOW.id, schema: 'slow' },
        { url: database.url, app: POOR.id, instance: INSTANCE.id, schema: 'poor' },
        { url: cutUrl.href, app: APP.id, schema: 'cut', pollMs: 10 },
      ],
    },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

function appOf({ id, key, secret }: typeof SLOW) {
  return { id, name: `app ${id}`, keys: [{ key, secret }] };
}

async function failedIn(schema: string): Promise<readonly string[]> {
  const rows: { failed: string }[] = await database.sql.unsafe(
    `SELECT failed FROM ${schema}.outbox WHERE failed IS NOT NULL ORDER BY id`,
  );
  return rows.map(({ failed }) => failed);
}

async function waitingIn(schema: string): Promise<number> {
  const [row] = await database.sql.unsafe(
    `SELECT count(*)::int AS rows FROM ${schema}.outbox WHERE failed IS NULL`,
  );
  return row.rows;
}

async function publishes(): Promise<readonly { readonly target: { readonly names: string[] } }[]> {
  const { json } = await admin(server, 'GET', `/instances/${INSTANCE.id}/publishes`);
  return (json as { publishes: { target: { names: string[] } }[] }).publishes;
}

const publishedTo = async (name: string) =>
  (await publishes()).filter(({ target }) => target.names.includes(name)).length;

const PAYLOAD = '{"web":{"notification":{"title":"Hi","body":"you"}}}';

describe('rows that an application commits', () => {
  it('reach subscribers in their order, and nothing of what it rolls back does', async () => {
    await using client = await appAt(server).connect();
    await client.subscribe('orders');
    await database.sql
      .begin(async (transaction) => {
        await transaction`SELECT fanfare.trigger('orders', 'rolled-back', '1')`;
        throw new Error('no');
      })
      .catch(() => undefined);
    await database.sql.begin(async (transaction) => {
      for (let n = 0; n < 200; n++) {
        await transaction`SELECT fanfare.trigger('orders', 'paid', ${`{"order": ${n}}`}::text::json)`;
      }
    });
    for (let n = 0; n < 200; n++) {
      expect(await client.receive()).toMatchObject({ event: 'paid', data: `{"order": ${n}}` });
    }
    await eventually(() => waitingIn('fanfare'), (rows) => rows === 0); // biome-ignore format: one line
  });

  it('reach several channels, all but the connection that is named, and are publishes too', async () => {
    await using sender = await appAt(server).connect();
    await using client = await appAt(server).connect();
    for (const one of [sender, client])
      for (const channel of ['a', 'b']) await one.subscribe(channel);
    await database.sql.begin(async (transaction) => {
      await transaction`SELECT fanfare.trigger(ARRAY['a', 'b'], 'e', '"text"', ${sender.socketId})`;
      await transaction`SELECT fanfare.trigger('b', 'last', '1')`;
      await transaction`SELECT fanfare.publish_to_interests(ARRAY['both'], ${PAYLOAD}::text::json)`;
      await transaction`SELECT fanfare.publish_to_users(ARRAY['ann'], ${PAYLOAD}::text::json)`;
    });
    const heard = [await client.receive(), await client.receive(), await client.receive()];
    expect(heard.map(({ event, channel, data }) => [event, channel, data])).toEqual([
      ['e', 'a', 'text'],
      ['e', 'b', 'text'],
      ['last', 'b', '1'],
    ]);
    expect(await sender.receive()).toMatchObject({ event: 'last' });
    await eventually(() => publishedTo('both'), (found) => found === 1); // biome-ignore format: one line
    await eventually(() => publishedTo('ann'), (found) => found === 1); // biome-ignore format: one line
  });

  it('are marked if they can never be sent, and hold up nobody', async () => {
    const { sql } = database;
    await using client = await appAt(server).connect();
    await client.subscribe('poison');
    await sql`INSERT INTO fanfare.outbox (kind, body) VALUES ('event', 'no json'), ('publish', '{}'), ('event', repeat('x', 1048577)),
      ('publish', '{"interests":["a"],"users":["b"],"web":{}}'), ('publish', '{"interests":["no spaces"],"web":{}}')`;
    await sql`SELECT fanfare.trigger('no spaces', 'e', '1')`;
    await sql`INSERT INTO fanfare.outbox (kind, body) VALUES
      ('event', '{"name":"e","channel":"cache-poison","data":"piece","append":{"id":"1","at":0}}')`;
    await sql`SELECT fanfare.trigger('poison', 'e', to_json(repeat('x', 20000)))`;
    await sql`SELECT fanfare.trigger('poison', 'good', '1')`;
    expect(await client.receive()).toMatchObject({ event: 'good' });
    await eventually(() => waitingIn('fanfare'), (rows) => rows === 0); // biome-ignore format: one line
    const failed = await failedIn('fanfare');
    expect(failed.map((why) => why.slice(0, 3)).toSorted()).toEqual(
      ['400', '422', '413', '422', '422', '400', '400', '413'].toSorted(),
    );
    await sql`UPDATE fanfare.outbox SET body = '{"name":"mended","channel":"poison","data":"1"}', failed = NULL
      WHERE body = 'no json'`;
    expect(await client.receive()).toMatchObject({ event: 'mended' });
    await eventually(() => waitingIn('fanfare'), (rows) => rows === 0); // biome-ignore format: one line
    await sql`DELETE FROM fanfare.outbox`;
  });

  it('are sent once, also if they could not be deleted the first time', async () => {
    const { sql } = database;
    await using client = await appAt(server).connect();
    await client.subscribe('once');
    await sql.unsafe(`
      CREATE SEQUENCE tries;
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('public.tries') < 3 THEN RAISE EXCEPTION 'not now'; END IF; RETURN NULL; END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON fanfare.outbox FOR EACH STATEMENT EXECUTE FUNCTION refuse()`);
    await sql.begin(async (transaction) => {
      await transaction`SELECT fanfare.trigger('once', 'first', '1')`;
      await transaction`SELECT fanfare.publish_to_users(ARRAY['once'], ${PAYLOAD}::text::json)`;
    });
    await eventually(() => waitingIn('fanfare'), (rows) => rows === 0); // biome-ignore format: one line
    const [tries] = await sql`SELECT last_value::int AS last FROM tries`;
    expect(tries.last).toBeGreaterThanOrEqual(3);
    await sql.unsafe('DROP FUNCTION refuse CASCADE; DROP SEQUENCE tries');
    await sql`SELECT fanfare.trigger('once', 'second', '1')`;
    expect(await client.receive()).toMatchObject({ event: 'first' });
    expect(await client.receive()).toMatchObject({ event: 'second' });
    expect(await publishedTo('once')).toBe(1);
  });
});

describe('rows over a limit of their app', () => {
  it('wait until they may be sent, in their order', async () => {
    await using client = await new TestApp(server, SLOW).connect();
    await client.subscribe('slow');
    await database.sql`SELECT slow.trigger('slow', 'e', to_json(n)) FROM generate_series(1, 12) AS n`;
    for (let n = 1; n <= 12; n++) expect(await client.receive()).toMatchObject({ data: `${n}` });
    expect(await failedIn('slow')).toEqual([]);
  });

  it('stay when the quota of the day is used, while publishes are sent', async () => {
    const { sql } = database;
    await sql`SELECT poor.trigger('poor', 'e', to_json(n)) FROM generate_series(1, 3) AS n`;
    await eventually(() => waitingIn('poor'), (rows) => rows === 1); // biome-ignore format: one line
    await sql`SELECT poor.publish_to_users(ARRAY['poor'], ${PAYLOAD}::text::json)`;
    await eventually(() => publishedTo('poor'), (found) => found === 1); // biome-ignore format: one line
    await eventually(() => waitingIn('poor'), (rows) => rows === 1); // biome-ignore format: one line
    expect(await failedIn('poor')).toEqual([]);
  });
});

describe('operators', () => {
  it('see who follows each source, what waits and what failed, and nothing secret', async () => {
    const { json } = await eventually(
      () => admin(server, 'GET', '/sources'),
      (answer) => {
        const { sources } = answer.json as { sources: { state: string; waiting: number }[] };
        return sources[2]?.waiting === 1 && answer.text.includes('"away"');
      },
    );
    const [first, , poor, cut] = (json as { sources: Record<string, unknown>[] }).sources;
    const { json: own } = await admin(server, 'GET', '/server');
    const { name } = own as { name: string };
    expect(first).toMatchObject({
      source: 0,
      schema: 'fanfare',
      app: APP.id,
      instance: INSTANCE.id,
      follower: name,
      states: [{ server: name, state: 'following', why: '' }],
    });
    expect(poor).toMatchObject({ waiting: 1, failed: 0 });
    expect(JSON.stringify(poor)).toContain('over its message quota');
    expect(cut).toMatchObject({ follower: null, states: [{ state: 'away' }] });

    const given = ['--config', 'config.json', '--url', `http://127.0.0.1:${server.adminPort}`];
    const listed = await fanfare(server.directory, ['source', 'list', ...given]);
    expect(listed.stdout).toContain(`follower  ${name}`);
    expect(listed.stdout).toContain('waiting   1 for ');
    expect(listed.stdout).toContain(`away      ${name}: `);
    const asJson = await fanfare(server.directory, ['source', 'list', '--json', ...given]);
    expect(JSON.parse(asJson.stdout)).toHaveLength(4);

    const { text: metrics } = await admin(server, 'GET', '//metrics');
    expect(metrics).toContain('fanfare_source_up{source="0"} 1\n');
    expect(metrics).toContain('fanfare_source_up{source="3"} 0\n');
    expect(metrics).toContain('fanfare_source_lag_seconds{source="0"} 0\n');
    expect(metrics).toMatch(/fanfare_source_rows_total\{result="event"\} [1-9]/);
    expect(metrics).toMatch(/fanfare_source_rows_total\{result="publish"\} [1-9]/);
    expect(metrics).toMatch(/fanfare_source_rows_total\{result="failed"\} [1-9]/);

    const { text: conditions } = await admin(server, 'GET', '/conditions');
    expect(conditions).toContain('"source-away"');
    for (const text of [JSON.stringify(json), listed.stdout, asJson.stdout, metrics, conditions]) {
      expect(text).not.toContain(PASSWORD);
    }
  });
});

describe('a database that is away', () => {
  it('does not stop the start, is followed once it is there, and again after a cut', async () => {
    const readyz = await fetch(`http://127.0.0.1:${server.adminPort}/readyz`);
    expect(readyz.status).toBe(200);
    await server.logged(
      /A source cannot be followed.*sources\[3\]|sources\[3\].*cannot be followed/,
    );
    await using client = await appAt(server).connect();
    await client.subscribe('cut');
    await database.sql`SELECT cut.trigger('cut', 'first', '1')`;
    proxy.doesRefuse = false;
    expect(await client.receive()).toMatchObject({ event: 'first' });
    for (let n = 0; n < 5; n++) {
      proxy.cut();
      await database.sql`SELECT cut.trigger('cut', 'after', ${`${n}`}::text::json)`;
      expect(await client.receive()).toMatchObject({ data: `${n}` });
    }
    expect(server.output.stderr + server.output.stdout).not.toContain(PASSWORD);
  });
});
