import { afterAll, beforeAll, expect, it } from 'bun:test';
import { join } from 'node:path';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp } from '../../testing/servers/test-app.ts';
import { fanfare } from '../cli/run-fanfare.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ threads: 2, onlyOne: 'log' });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Listed {
  readonly lines: readonly {
    readonly n: number;
    readonly message: string;
    readonly fields: Readonly<Record<string, unknown>>;
  }[];
}

const list = async (query: string) =>
  (await admin(server, 'GET', `/log?${query}`)).json as unknown as Listed;

it('the admin API shows what all threads have logged, as the log has it', async () => {
  const app = await newApp(server, { enabled: true });
  const clients = await Promise.all(Array.from({ length: 8 }, () => app.connect()));
  for (const client of clients) {
    client.send({ event: 'pusher:subscribe', data: { channel: 'private-x', auth: 'wrong' } });
    await client.receive();
  }
  // A thread passes its lines on within 100 ms, and the log leaves out what is repeated.
  const { lines } = await eventually(
    () => list(`text=app=${app.id}&limit=1000`),
    (all) => all.lines.some(({ message }) => message.includes('Subscription refused')),
  );
  const logged = server.output.stderr.split('\n').filter((line) => line.includes(app.id));
  for (const { message, fields } of lines) {
    expect(logged.some((line) => line.includes(message))).toBe(true);
    expect(fields).toMatchObject({ app: app.id });
  }
  expect((await admin(server, 'GET', '/log?level=loud')).status).toBe(400);
  for (const client of clients) await client[Symbol.asyncDispose]();
});

it('fanfare log prints the last lines, and follows the log until the server stops', async () => {
  const run = (...args: readonly string[]) =>
    fanfare(server.directory, [
      'log',
      ...args,
      '--url',
      `http://127.0.0.1:${server.adminPort}`,
      '--config',
      join(server.directory, 'config.json'),
    ]);
  const printed = await run('--text', 'log stream');
  expect([printed.exitCode, printed.stdout]).toEqual([0, '']);
  const opened = server.logsNext(/Log stream opened/);
  const following = run('--text', 'log stream', '--follow');
  await opened;
  await server.stop();
  const { stdout, stderr, exitCode } = await following;
  expect(stdout.replace(/^[\d:.]{12}/gm, 'TIME')).toBe(
    'TIME  INFO   Log stream opened  by=password\n',
  );
  expect([exitCode, stderr]).toEqual([1, 'fanfare: the stream has ended: the server stops\n']);
});
