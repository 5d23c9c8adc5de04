import { expect, it } from 'bun:test';
import { join } from 'node:path';
import { api, trigger } from '../../testing/clients/sign.ts';
import { codeIn } from '../../testing/doc-code.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';

/** The programs of docs/use/streams.md, as a reader would copy them, with another address. */

const PAGE = join(import.meta.dir, '../../docs/use/streams.md');
const ADDRESS = /https?:\/\/[^/'"]+\/apps\/1\/channels\/news\/stream\?key=KEY/;

it.each([
  ['sh', 'curl -N', ['sh', '-c'], '"event":"told"'],
  ['python', 'urllib', ['python3', '-c'], 'news told a\u2028b'],
])('prints events as they come, in %s', async (language, text, command, printed) => {
  await using server = await startFanfare();
  const path = `/apps/${APP.id}/channels/news`;
  const address = `http://127.0.0.1:${server.port}${path}/stream?key=${APP.key}`;
  const code = (await codeIn(PAGE, language, text)).replace(ADDRESS, address);
  const program = Bun.spawn([...command, code], { stdout: 'pipe', stderr: 'ignore' });
  const output = program.stdout.pipeThrough(new TextDecoderStream()).getReader();
  await eventually(
    async () => (await api(server, 'GET', path)).json(),
    (known) => (known as { readonly occupied: boolean }).occupied,
  );
  await trigger(server, { name: 'told', channel: 'news', data: 'a\u2028b' });
  let read = '';
  while (!read.includes(printed)) {
    const { value, done } = await output.read();
    if (done) throw new Error(`It has ended: ${read}`);
    read += value;
  }
  program.kill();
  await program.exited;
  expect(read).toContain(printed);
});
