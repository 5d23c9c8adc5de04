import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { APP, configOf, type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { fanfare, temporaryDirectory } from './run-fanfare.ts';

const GRANTS = { leewaySeconds: 0, channelsClaim: 'rooms', userClaim: 'uid' };

const directory = temporaryDirectory();
let server: Fanfare;
beforeAll(async () => {
  const config = configOf(directory.path, { app: { grants: GRANTS, clientEvents: true } });
  await Bun.write(`${directory.path}/fanfare.json`, JSON.stringify(config));
  server = await spawnFanfare(['serve'], directory.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const run = (...args: string[]) => fanfare(directory.path, ['token', ...args]);

describe('fanfare token', () => {
  it('prints a token that opens the channels that were asked for', async () => {
    const { stdout, exitCode } = await run(
      ...[APP.id, '--user', 'ann', '--user-info', '{"name":"Ann"}', '--seconds', '600'],
      ...['--channels', 'private-team-*', '--channels', 'presence-team'],
      ...['--client-events', 'private-chat'],
    );
    expect(exitCode).toBe(0);
    const app = new TestApp(server, APP);
    await using client = await app.connect();
    client.send({ event: 'pusher:signin', data: { auth: stdout.trim() } });
    for (const channel of ['private-team-1', 'presence-team', 'private-chat', 'private-x']) {
      client.send({ event: 'pusher:subscribe', data: { channel, auth: '' } });
    }
    const heard: string[] = [];
    while (heard.length < 6) {
      const { event, channel = '' } = await client.receive();
      heard.push(`${event} ${channel}`);
    }
    const entered = 'pusher_internal:subscription_succeeded';
    expect(heard).toEqual([
      'pusher:signin_success ',
      `${entered} private-team-1`,
      `${entered} presence-team`,
      `${entered} private-chat`,
      'pusher:error ',
      'pusher:subscription_error private-x',
    ]);
  });

  it('prints its claims, too, for programs', async () => {
    const { stdout } = await run(APP.id, '--json', '--client-events', 'private-chat');
    const { token, claims } = JSON.parse(stdout);
    expect(claims).toEqual({
      rooms: { 'private-chat': ['subscribe', 'client-events'] },
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: claims.iat + 3600,
    });
    const [, payload = ''] = token.split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toEqual(claims);
  });

  it('serves apps of the store as well', async () => {
    const body = { name: 'stored', grants: {} };
    const { json } = await admin(server, 'POST', '/apps', { body });
    const { id } = json as { id: string };
    const { exitCode, stdout } = await run(id, '--channels', 'private-x');
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/)]);
    const plain = await admin(server, 'POST', '/apps', { body: { name: 'plain' } });
    const refused = await run((plain.json as { id: string }).id);
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      expect.stringContaining('takes no tokens: set its `grants`'),
    ]);
  });

  it.each([
    [1, 'Invalid token: the claim `rooms` has a wrong pattern', [APP.id, '--channels', 'news']],
    [1, 'Invalid token: the claim `uid` must be a user id', [APP.id, '--user', 'a|b']],
    [1, 'exp must be a time within 31 days', [APP.id, '--seconds', '2678401']],
    [1, 'There is no app 99', ['99']],
    [2, '--seconds must be a whole number', [APP.id, '--seconds', '0']],
    [2, '--user-info must be a JSON object', [APP.id, '--user-info', '[]']],
    [2, 'which app?', []],
  ])('ends with %d and says why: %s', async (code, why, args) => {
    const { exitCode, stderr, stdout } = await run(...args);
    expect([exitCode, stdout, stderr]).toEqual([code, '', expect.stringContaining(why)]);
  });
});
