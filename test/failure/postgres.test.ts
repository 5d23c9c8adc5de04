import { describe, expect, it } from 'bun:test';
import { connect, createServer, type Socket } from 'node:net';
import { SQL } from 'bun';
import { NO_CLIENT_TLS } from '../../src/runtime/tls/certificate.ts';
import { Database } from '../../src/stores/database/database.ts';
import { StoreSilent } from '../../src/stores/database/faults.ts';
import { openPostgres } from '../../src/stores/database/postgres.ts';
import { webhooksOf } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { ownPostgres, throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { APP, commandOf, startFanfare } from '../../testing/servers/fanfare.ts';
import { ProcessOutput } from '../../testing/servers/process-output.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { becomes, chat, complaints, readiness } from './store-trouble.ts';

const LONG_MS = 180_000;

/** What the store says was used. */
async function usageIn(url: string): Promise<number> {
  await using sql = new SQL(url, { max: 1 });
  const rows: { messages: string | null }[] = await sql`
    SELECT SUM(messages) AS messages FROM usage_days WHERE app_id = ${APP.id}`;
  return Number(rows[0]?.messages ?? 0);
}

/** A proxy to a database that can be cut without either side noticing. */
async function cutWay(url: string) {
  const port = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  let cut = false;
  const proxy = createServer((near) => {
    sockets.add(near);
    near.on('error', () => undefined);
    if (cut) return;
    const far = connect(port, '127.0.0.1');
    far.on('error', () => undefined);
    sockets.add(far);
    near.on('data', (bytes) => cut || far.write(bytes));
    far.on('data', (bytes) => cut || near.write(bytes));
    near.on('close', () => cut || far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: url.replace(`:${port}/`, `:${address.port}/`),
    cut() {
      cut = true;
    },
    mend() {
      cut = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

describe('a server whose PostgreSQL', () => {
  it.concurrent(
    'dies continues to deliver, logs that once, and keeps everything once it is back',
    async () => {
      await using postgres = await ownPostgres();
      using endpoint = startWebhookEndpoint();
      await using server = await startFanfare({
        app: { webhooks: [endpoint.webhook] },
        config: { store: { url: postgres.url }, webhooks: { allowPrivateAddresses: true } },
      });
      await using talk = await chat(server);
      await becomes(server, /^200/, talk.say);

      postgres.kill();
      expect(await becomes(server, /^503.*store:/s, talk.say)).toContain(
        'store: the database cannot be reached (',
      );
      await using late = await RawClient.connect(server);
      await late.subscribe('while-it-was-away');
      const before = Date.now();
      while (Date.now() - before < 2500) await talk.say();
      expect(await readiness(server)).toStartWith('503');

      await postgres.start();
      expect(await becomes(server, /^200/, talk.say)).toBe('200 ready\n');
      await server.logged(/The store works again/);
      while (!endpoint.bodies.join().includes('while-it-was-away')) await talk.say();
      const warned = complaints(server);
      expect(warned).toContain('The store does not work');
      expect(warned).toEqual([...new Set(warned)]);

      expect(await server.stop()).toBe(0);
      expect(await usageIn(postgres.url)).toBeGreaterThanOrEqual(talk.messages);
    },
    LONG_MS,
  );

  it.concurrent(
    'is read-only continues to deliver, logs that, and writes again once it may',
    async () => {
      await using store = await throwAwayPostgres();
      await using server = await startFanfare({ config: { store: { url: store.url } } });
      await using talk = await chat(server);
      await using sql = new SQL(store.url, { max: 1 });
      const readOnly = async (value: 'on' | 'off') => {
        const [{ name }] = await sql`SELECT current_database() AS name`;
        await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
        // As when another machine takes over: connections end, and the new ones find it so.
        await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name = 'fanfare' AND datname = ${name}`;
      };
      await readOnly('on');
      expect(await becomes(server, /read-only/, talk.say)).toContain(
        'store: the store is read-only (',
      );
      await readOnly('off');
      expect(await becomes(server, /^200/, talk.say)).toBe('200 ready\n');
      expect(await server.stop()).toBe(0);
      expect(await usageIn(store.url)).toBeGreaterThanOrEqual(talk.messages);
    },
    LONG_MS,
  );

  it.concurrent(
    'is gone at a restart logs that and waits, and ends after 10 s or starts once it is back',
    async () => {
      await using postgres = await ownPostgres();
      await using server = await startFanfare({ config: { store: { url: postgres.url } } });
      postgres.kill();
      // It cannot write any more, and must end all the same.
      expect(await server.stop()).toBe(0);
      const start = () => {
        const child = Bun.spawn([...commandOf(), 'serve', '--config', 'config.json'], {
          cwd: server.directory,
          stdout: 'pipe',
          stderr: 'pipe',
        });
        return { child, output: new ProcessOutput(child) };
      };
      const inVain = start();
      expect(await inVain.child.exited).toBe(1);
      const why = /cannot be opened: nothing listens at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)/;
      await inVain.output.line(0, new RegExp(`^fanfare: The store .* ${why.source}`));

      const { child, output } = start();
      const line = await output.line(0, /The store cannot be used yet/);
      expect(line).toMatch(why);
      await postgres.start();
      await output.until(() => /^Channels +http/m.test(output.stdout) || undefined, 'listened');
      const lines = output.stderr.split('\n').filter((one) => one.includes('cannot be used yet'));
      expect(lines).toEqual([...new Set(lines)]);
      child.kill();
      expect(await child.exited).toBe(0);
    },
    LONG_MS,
  );

  it.concurrent(
    'dies again and again loses no webhook, and keeps none twice',
    async () => {
      await using postgres = await ownPostgres();
      using endpoint = startWebhookEndpoint();
      await using server = await startFanfare({
        app: { webhooks: [{ url: endpoint.url, events: ['channel_occupied'] }] },
        config: { store: { url: postgres.url }, webhooks: { allowPrivateAddresses: true } },
      });
      await using client = await RawClient.connect(server);
      const channels: string[] = [];
      for (let round = 0; round < 3; round++) {
        for (let n = 0; n < 40; n++) {
          const channel = `round-${round}-${n}`;
          await client.subscribe(channel);
          channels.push(channel);
        }
        postgres.kill();
        await postgres.start();
      }
      await becomes(server, /^200/, async () => undefined);
      const received = () => endpoint.bodies.join();
      while (!channels.every((channel) => received().includes(`"${channel}"`))) await Bun.sleep(20);
      await webhooksOf(server, 'state=waiting', 0);
      await using sql = new SQL(postgres.url, { max: 1 });
      const rows: { body: string }[] = await sql`SELECT body FROM outbox_requests`;
      const kept = rows.flatMap(({ body }) =>
        (JSON.parse(body) as { events: { channel: string }[] }).events.map(
          (event) => event.channel,
        ),
      );
      expect(kept.toSorted()).toEqual(channels.toSorted());
    },
    LONG_MS,
  );
});

describe('the database', () => {
  it('that does not answer is given up in time, also by those who read, and found again', async () => {
    await using store = await throwAwayPostgres();
    await using way = await cutWay(store.url);
    const backend = await openPostgres(way.url, { tls: NO_CLIENT_TLS, answerTimeoutMs: 2000 });
    await using database = new Database(backend);
    await database.write((sql) => sql`CREATE TABLE migrations (number INTEGER)`);
    expect(await database.lost()).toBeUndefined();

    way.cut();
    const reading = Promise.resolve(database.read`SELECT 1`);
    const settled = reading.then(
      () => 'read',
      () => 'gave up',
    );
    await expect(database.write((sql) => sql`SELECT 1`)).rejects.toThrow(StoreSilent);
    expect(await settled).toBe('gave up');

    way.mend();
    expect(await database.lost()).toBeUndefined();
    const rows: { one: number }[] = await database.read`SELECT 1 AS one`;
    expect(rows[0]?.one).toBe(1);
  });

  it('frees the rows of a server that was cut off from it in the middle of a change', async () => {
    await using store = await throwAwayPostgres();
    await using way = await cutWay(store.url);
    const backend = await openPostgres(way.url, { tls: NO_CLIENT_TLS, answerTimeoutMs: 1000 });
    await using other = new SQL(store.url, { max: 1 });
    await other`CREATE TABLE work (number INTEGER)`;
    await other`INSERT INTO work VALUES (1)`;
    const changing = backend.begin(async (sql) => {
      await sql`UPDATE work SET number = 2`;
      way.cut();
      await sql`UPDATE work SET number = 3`;
    });
    await expect(changing).rejects.toThrow(StoreSilent);
    await other`SET statement_timeout = '20s'`;
    expect(await other`UPDATE work SET number = number + 10 RETURNING number`).toEqual([
      { number: 11 },
    ]);
    await backend.close();
  });
});
