import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { api, trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import {
  APP,
  commandOf,
  configOf,
  type Fanfare,
  spawnFanfare,
} from '../../testing/servers/fanfare.ts';
import { startAgain } from '../../testing/servers/restart.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';
import { fanfare, temporaryDirectory } from './run-fanfare.ts';

const directory = temporaryDirectory();
let server: Fanfare;
let url = '';
beforeAll(async () => {
  const config = configOf(directory.path, { app: { history: [{ channels: 'private-*' }] } });
  await Bun.write(`${directory.path}/config.json`, JSON.stringify(config));
  server = await spawnFanfare(['serve', '--config', 'config.json'], directory.path);
  url = `http://127.0.0.1:${server.port}`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const subscribe = (...args: string[]) =>
  fanfare(directory.path, ['subscribe', ...args, '--config', 'config.json']);

/** Settles when the channel has a subscriber, or has none. */
const occupied = (channel: string, isOccupied = true) =>
  eventually(
    async () => {
      const answer = await api(server, 'GET', `/apps/${APP.id}/channels/${channel}`);
      return ((await answer.json()) as { readonly occupied: boolean }).occupied;
    },
    (is) => is === isOccupied,
  );

const send = (channel: string, name: string, data = 'x') =>
  trigger(server, { name, channel, data });

describe('fanfare subscribe', () => {
  it('prints events, and ends after so many', async () => {
    const ended = subscribe(APP.id, 'private-a', 'news', '--url', url, '--count', '3');
    await occupied('news');
    await send('private-a', 'paid', '{"order":7}');
    await send('news', 'told', 'a\u2028\nb');
    await send('news', 'told');
    const { exitCode, stdout, stderr } = await ended;
    expect([exitCode, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.replace(/^[\d:.]+ {2}/, ''))).toEqual([
      'private-a  paid  {"order":7}',
      String.raw`news  told  a\u2028\u000ab`,
      'news  told  x',
    ]);
  });

  it('prints the frames as they came, of one name only, and counts those', async () => {
    const ended = subscribe(
      ...[APP.id, 'private-b', '--url', url, '--count', '1', '--event', 'paid', '--json'],
    );
    await occupied('private-b');
    await send('private-b', 'other');
    const answer = JSON.parse(await send('private-b', 'paid'));
    const { exitCode, stdout } = await ended;
    const id = answer.event_ids['private-b'];
    expect([exitCode, stdout]).toEqual([
      0,
      `{"event":"paid","channel":"private-b","data":"x","id":"${id}"}\n`,
    ]);
  });

  it('goes on after an event, or prints that events are missing', async () => {
    const first = JSON.parse(await send('private-c', '1')).event_ids['private-c'];
    await send('private-c', '2');
    const args = [APP.id, 'private-c', '--url', url, '--json', '--count', '1'];
    const { stdout } = await subscribe(...args, '--after', first);
    expect(JSON.parse(stdout).event).toBe('2');
    const ended = subscribe(...args, '--after', '9-abcdefgh');
    await occupied('private-c');
    await send('private-c', '3');
    const [gap = '', event = ''] = (await ended).stdout.split('\n');
    expect(JSON.parse(gap).gap).toMatchObject({ channel: 'private-c', why: 'forgotten' });
    expect(JSON.parse(event).event).toBe('3');
  });

  it('ends with 1 after so many seconds', async () => {
    const { exitCode, stdout } = await subscribe(APP.id, 'news', '--url', url, '--seconds', '1');
    expect([exitCode, stdout]).toEqual([1, '']);
  });

  it('says in the words of the server why it is refused', async () => {
    const refused = await subscribe(APP.id, 'private-a!', '--url', url);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain('refuses with 400: Invalid channel name');
    const wrong = await subscribe(APP.id, 'news', '--url', url, '--after', 'x');
    expect(wrong.stderr).toContain('after: must be the last id that was read');
    const nowhere = await subscribe(APP.id, 'news', '--url', 'http://127.0.0.1:1');
    expect([nowhere.exitCode, nowhere.stderr]).toEqual([
      1,
      expect.stringContaining('nothing listens there'),
    ]);
  });

  it.each([
    [[], 'subscribe needs APP and at least one CHANNEL'],
    [[APP.id], 'subscribe needs APP and at least one CHANNEL'],
    [[APP.id, 'a', '--count', '0'], '--count must be a whole number of at least 1, not "0"'],
    [['77', 'a', '--url', 'http://127.0.0.1:1'], 'there is no app 77; see: fanfare apps list'],
  ])('cannot take %j', async (args, why) => {
    const { exitCode, stderr } = await subscribe(...args);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(why)]);
  });

  it('takes its key from the environment, and goes on after cuts and a restart', async () => {
    await using proxy = await TcpProxy.start(server.port);
    // In a process of its own: the server that is started again must not have its environment.
    const url = `http://127.0.0.1:${proxy.port}`;
    const args = ['subscribe', APP.id, 'private-d', '--url', url, '--json', '--count', '4'];
    const command = Bun.spawn([...commandOf(), ...args], {
      cwd: directory.path,
      env: { ...process.env, FANFARE_APP_KEY: APP.key, FANFARE_APP_SECRET: APP.secret },
      stdout: 'pipe',
    });
    const printed = command.stdout.pipeThrough(new TextDecoderStream()).getReader();
    await occupied('private-d');
    await send('private-d', '1');
    // It has a place from now on.
    let stdout = (await printed.read()).value ?? '';
    proxy.cut();
    for (const name of ['2', '3']) await send('private-d', name);
    expect(await server.stop()).toBe(0);
    server = await startAgain(server);
    await send('private-d', '4');
    for (let part = await printed.read(); !part.done; part = await printed.read()) {
      stdout += part.value;
    }
    const exitCode = await command.exited;
    const names = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    expect([exitCode, names]).toEqual([0, ['1', '2', '3', '4']]);
  });
});
