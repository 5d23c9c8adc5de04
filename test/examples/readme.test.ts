import { expect, it, setDefaultTimeout } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../testing/eventually.ts';
import { spawnFanfare } from '../../testing/servers/fanfare.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { FREE_PORTS, temporaryDirectory } from '../cli/run-fanfare.ts';

setDefaultTimeout(180_000);

const ROOT = join(import.meta.dir, '../..');

it('the first event of the README arrives, with its commands and its code', async () => {
  const text = await Bun.file(join(ROOT, 'README.md')).text();
  const section = /^## Your first event$([\s\S]*?)^## /m.exec(text)?.[1] ?? '';
  const [, command = ''] = /```sh\n(.*) npm start\n/.exec(section) ?? [];
  const settings = Object.fromEntries(command.split(' ').map((word) => word.split('=')));
  const { FANFARE_APP_ID: id, FANFARE_APP_KEY: key, FANFARE_APP_SECRET: secret } = settings;

  using directory = temporaryDirectory();
  await using server = await spawnFanfare(['serve'], directory.path, {
    ...settings,
    ...FREE_PORTS,
  });
  symlinkSync(join(ROOT, 'node_modules'), join(directory.path, 'node_modules'));
  const [client = '', backend = ''] = [...section.matchAll(/```js\n([\s\S]*?)```/g)].map(
    ([, code = '']) => code.replace('6001', String(server.port)),
  );
  const run = async (name: string, code: string) => {
    await Bun.write(join(directory.path, name), code);
    return Bun.spawn(['node', name], { cwd: directory.path, stdout: 'pipe', stderr: 'inherit' });
  };

  const listening = await run('client.mjs', client);
  const app = new TestApp(server, { id, key, secret });
  await eventually(
    async () => await (await app.api('GET', '/channels/orders')).text(),
    (answer) => answer.includes('"occupied":true'),
  );
  expect(await (await run('backend.mjs', backend)).exited).toBe(0);
  const { value } = await listening.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe('{ id: 17 }\n');
  listening.kill();
  await listening.exited;
});
