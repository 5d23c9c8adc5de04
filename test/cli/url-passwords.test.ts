import { expect, it } from 'bun:test';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { FREE_PORTS, fanfare, temporaryDirectory } from './run-fanfare.ts';

const DOCTOR = ['doctor', '--key', 'k', '--timeout', '1', '--url'];

it.each([
  ['webhooks', 'list', '--url', 'http://u:hunter2@127.0.0.1:1/'],
  ['webhooks', 'list', '--json', '--url', 'http://u:hunter2@127.0.0.1:1/'],
  ['webhooks', 'list', '--url', 'http://u:hun ter2 hunter2@127.0.0.1:1/'],
  ['webhooks', 'list', '--url', 'http://127.0.0.1:1/?password=hunter2'],
  ['webhooks', 'list', '--url', 'htp://u:hunter2@127.0.0.1:1/'],
  ['webhooks', 'list', '--url', 'http://u:hunter2/x@127.0.0.1:1/'],
  ['webhooks', 'list', '--url', 'u:hunter2@127.0.0.1'],
  ['webhooks', 'list', '--url', 'http://u:1/hunter2@127.0.0.1/'],
  ['webhooks', 'list', 'http://u:hunter2@127.0.0.1:1/'],
  ['http://u:hunter2@127.0.0.1:1/'],
  ['push', 'status', 'pubid-x', '--url', 'http://u:hunter2@127.0.0.1:1/'],
  ['push', 'status', 'pubid-x', '--url', '//u:hunter2@127.0.0.1:1/'],
  ['push', 'status', 'http://u:hunter2@127.0.0.1:1/'],
  ['backup', 'postgres://u:hunter2@127.0.0.1/x'],
  ['instances', 'create', '--vapid-subject', 'https://u:hunter2@x.test'],
  ['instances', 'create', '--json', '--vapid-subject', 'http://u:hunter2@x.test'],
  [...DOCTOR, 'htp://u:hunter2@127.0.0.1:1'],
  [...DOCTOR, 'u:hunter2@127.0.0.1'],
  [...DOCTOR, 'http://u:hunter2/x@127.0.0.1'],
  [...DOCTOR, 'http://u:1/app/hunter2@127.0.0.1', '--json'],
])('never shows the password of a URL that it cannot use: fanfare %s %s %s %s', async (...args) => {
  using directory = temporaryDirectory();
  const { exitCode, stdout, stderr } = await fanfare(directory.path, args);
  expect(exitCode).toBeGreaterThan(0);
  expect(stdout + stderr).not.toContain('hunter2');
  expect(stdout + stderr).not.toBe('');
});

it('never shows the password of a URL if another program answers', async () => {
  await using server = await startFanfare();
  const url = `http://u:hunter2@127.0.0.1:${server.port}/?token=hunter2`;
  for (const args of [
    ['webhooks', 'list'],
    ['push', 'status', 'pubid-x'],
  ]) {
    const { exitCode, stderr } = await fanfare(server.directory, [...args, '--url', url]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringContaining(`http://***@127.0.0.1:${server.port}/?token=*** `),
    });
  }
});

it('never shows the password of a URL in the configuration that it cannot use', async () => {
  const secret = 'http://u:hunter2@x.test';
  const instance = { id: '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c', secretKeys: ['x'] };
  for (const config of [
    { log: { level: secret }, [secret]: secret, trustedProxies: [secret] },
    { engine: { type: 'redis', url: secret } },
    { engine: { type: secret } },
    { store: { url: secret } },
    { store: { url: 'sqlite:file://u:hunter2@x.test/a' } },
    { push: { publicUrl: secret, instances: [{ ...instance, whenUserIsFull: secret }] } },
    { push: { instances: [{ ...instance, webhooks: [{ url: `x${secret}`, events: [secret] }] }] } },
    { push: { instances: [{ ...instance, web: { vapid: { subject: secret } } }] } },
  ]) {
    using directory = temporaryDirectory({ 'fanfare.json': JSON.stringify(config) });
    const environment = { ...FREE_PORTS, FANFARE_DRAIN_SECONDS: secret };
    const { exitCode, stdout, stderr } = await fanfare(directory.path, ['serve'], environment);
    expect(exitCode).toBe(2);
    expect(stdout + stderr).not.toContain('hunter2');
  }
});

it('never shows the password of a URL that the admin API refuses', async () => {
  await using server = await startFanfare();
  const secret = 'http://u:hunter2@x.test';
  for (const webhook of [
    { url: `x${secret}`, events: ['channel_existence'] },
    { url: secret, events: [secret] },
    { url: secret, events: ['channel_existence'], [secret]: secret },
    { url: 'http://***@x.test/', events: ['channel_existence'] },
  ]) {
    const answer = await fetch(`http://127.0.0.1:${server.adminPort}/api/v1/apps`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${server.adminPassword}`,
      },
      body: JSON.stringify({ name: 'x', webhooks: [webhook] }),
    });
    expect(answer.status).toBe(400);
    expect(await answer.text()).not.toContain('hunter2');
  }
  expect(server.output.stderr).not.toContain('hunter2');
});
