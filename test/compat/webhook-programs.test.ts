import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { eventually } from '../../testing/eventually.ts';
import { Inbox } from '../../testing/inbox.ts';
import { startWithWebhooks } from '../../testing/servers/app-with-webhooks.ts';
import { APP, type Fanfare } from '../../testing/servers/fanfare.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

/** The programs of docs/use/webhooks.md, as they stand but for port and secret, take the webhooks of a real server. */

setDefaultTimeout(180_000);

const PAGE = Bun.file(join(import.meta.dir, '../../docs/use/webhooks.md'));

/** How the page starts each. */
const PROGRAMS: Readonly<Record<string, (port: number) => readonly string[]>> = {
  js: () => ['node', 'webhooks.mjs'],
  php: (port) => ['php', '-S', `127.0.0.1:${port}`, 'webhooks.php'],
  ruby: (port) => ['rackup', '--port', String(port), 'webhooks.ru'],
  python: () => ['python3', 'webhooks.py'],
};

interface Program {
  readonly url: string;
  readonly printed: Inbox<string>;
}

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void) {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  }
}

describe('the programs of webhooks.md', () => {
  const parts = new AsyncDisposableStack();
  const programs: Record<string, Program> = {};
  let server: Fanfare;

  beforeAll(async () => {
    const page = await PAGE.text();
    for (const [language, command] of Object.entries(PROGRAMS)) {
      const [, code = ''] =
        new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? [];
      const port = await freePort();
      const run = command(port);
      const directory = parts.use(
        temporaryDirectory({
          [run.at(-1) ?? '']: code
            .replace('app-key', APP.key)
            .replace('app-secret', APP.secret)
            .replace('8000', String(port)),
        }),
      );
      const child = Bun.spawn([...run], {
        cwd: directory.path,
        stdout: 'pipe',
        stderr: 'pipe',
      });
      parts.defer(async () => {
        child.kill();
        await child.exited;
      });
      const printed = new Inbox<string>(`The program in ${language}`);
      for (const stream of [child.stdout, child.stderr]) {
        void readLines(stream, (line) => printed.put(line));
      }
      // localhost: that of Ruby listens at one of its two addresses.
      programs[language] = { url: `http://localhost:${port}/`, printed };
    }
    server = parts.use(
      await startWithWebhooks(
        Object.values(programs).map(({ url }) => ({ url, events: ['member_added'] })),
      ),
    );
  });
  afterAll(() => parts.disposeAsync());

  const post = async ({ url }: Program, body: string, headers: Readonly<Record<string, string>>) =>
    (await fetch(url, { method: 'POST', body, headers })).status;

  it.each(Object.keys(PROGRAMS))(
    'refuse what is not signed with the secret: %s',
    async (language) => {
      const program = programs[language] as Program;
      const body = '{"time_ms":1,"events":[]}';
      const sign = (secret: string) => createHmac('sha256', secret).update(body).digest('hex');
      await eventually(
        () => post(program, body, {}).catch(() => 0),
        (status) => status === 401,
      );
      const signature = sign(APP.secret);
      for (const [key, forged] of [
        [APP.key, sign('another')],
        [APP.key, ''],
        [APP.key, 'é'],
        ['otherkey', signature],
        ['toString', sign('')],
        ['', sign('')],
      ] as const) {
        const headers = { 'x-pusher-key': key, 'x-pusher-signature': forged };
        expect([forged, await post(program, body, headers)]).toEqual([forged, 401]);
      }
      const right = { 'x-pusher-key': APP.key, 'x-pusher-signature': signature };
      expect(await post(program, body, right)).toBe(200);
      expect(await post(program, `${body} `, right)).toBe(401);
    },
  );

  it('take those of the server', async () => {
    await using ann = await RawClient.connect(server);
    const channel = 'presence-room';
    const data = '{"user_id":"zoë 🎺"}';
    const signature = createHmac('sha256', APP.secret)
      .update(`${ann.socketId}:${channel}:${data}`)
      .digest('hex');
    await ann.subscribe(channel, { auth: `${APP.key}:${signature}`, channel_data: data });
    for (const { printed } of Object.values(programs)) {
      expect(await printed.first((line) => line.includes('member_added'))).toContain(channel);
    }
  });
});
