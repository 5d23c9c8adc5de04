import { expect, it } from 'bun:test';
import { join } from 'node:path';
import { admin, makeApp } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';

it('answers 503 while the realtime loop is busy, and serves everything else', async () => {
  await using server = await startFanfare({
    // With several, the message names the one that is busy.
    threads: 1,
    program: join(import.meta.dir, 'busy-server.fixture.ts'),
  });
  server.process.kill('SIGUSR2');
  await server.logged(/busy from now on/);
  const why = 'The realtime loop did not answer within 5000 ms';
  const [metrics, live, channels, conditions, created] = await Promise.all([
    admin(server, 'GET', '//metrics'),
    admin(server, 'GET', '/live'),
    admin(server, 'GET', `/apps/${APP.id}/channels`),
    // What was measured a second ago is not measured again.
    eventually(
      () => admin(server, 'GET', '/conditions'),
      ({ json }) => (json as { conditions: unknown[] }).conditions.length > 0,
    ),
    makeApp(server, { name: 'later' }),
  ]);
  expect(metrics).toMatchObject({ status: 503, text: `${why}\n` });
  expect(metrics.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(live).toMatchObject({ status: 503, json: { error: why } });
  expect(channels).toMatchObject({ status: 503, json: { error: why } });
  expect(conditions).toMatchObject({
    status: 200,
    json: { conditions: [{ id: 'loop-silent', level: 'bad', text: `${why}.` }] },
  });
  // The change is stored; the realtime loop applies it later.
  expect((await admin(server, 'GET', `/apps/${created.id}`)).json).toMatchObject({ name: 'later' });
  expect((await admin(server, 'GET', `/apps/${APP.id}/usage`)).status).toBe(200);
});
