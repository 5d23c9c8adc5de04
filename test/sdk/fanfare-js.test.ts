import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT } from '../../packaging/bundle.ts';
import { bundleSdk } from '../../packaging/sdk-package.ts';
import manifest from '../../sdk/fanfare-js/package.json';

/** The package as it is installed, without its declarations. */
const work = mkdtempSync(join(tmpdir(), 'fanfare-js-'));
const modules = join(work, 'node_modules');
beforeAll(async () => {
  const folder = join(modules, 'fanfare-js');
  mkdirSync(folder, { recursive: true });
  for (const name of ['@noble', 'ws', 'pusher-js', 'tweetnacl']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  await bundleSdk(folder, manifest.version);
  await Bun.write(join(folder, 'package.json'), JSON.stringify(manifest));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** How large a module is in an application for browsers, in bytes: minified, and compressed as well. */
async function sizeOf(module: string): Promise<readonly [minified: number, compressed: number]> {
  const { outputs } = await Bun.build({
    entrypoints: [join(work, 'entry.js')],
    files: {
      [join(work, 'entry.js')]: `import P from ${JSON.stringify(module)}; globalThis.P = P;`,
    },
    target: 'browser',
    minify: true,
  });
  const text = (await outputs[0]?.text()) ?? '';
  return [text.length, gzipSync(text, { level: 9 }).length];
}

describe('an application for browsers is small', () => {
  it.each([
    ['fanfare-js', 'pusher-js', 1 / 2],
    ['fanfare-js/with-encryption', 'pusher-js/with-encryption', 1 / 2],
    ['fanfare-js/lite', 'pusher-js', 0.45],
    ['fanfare-js/worker', 'pusher-js/worker', 1 / 2],
    ['fanfare-js/worker/with-encryption', 'pusher-js/worker/with-encryption', 1 / 2],
  ])('with %s in place of %s: at most %d of its bytes', async (own, theirs, share) => {
    const [[, small], [, large]] = [await sizeOf(own), await sizeOf(theirs)];
    expect(small).toBeGreaterThan(1000);
    expect(small).toBeLessThanOrEqual(large * share);
  });

  it('has the sizes that the README prints, within 5 %', async () => {
    const readme = await Bun.file(join(ROOT, 'sdk/fanfare-js/README.md')).text();
    const rows = [...readme.matchAll(/^\| `(fanfare-js[\w/-]*)` \|[^|]*\| ([\d,]+) \|/gm)];
    expect(rows.length).toBeGreaterThanOrEqual(4);
    for (const [, module = '', printed = ''] of rows) {
      const [, compressed] = await sizeOf(module);
      expect(Math.abs(compressed / Number(printed.replace(',', '')) - 1)).toBeLessThan(0.05);
    }
  });

  it('without what it does not import', async () => {
    const { outputs } = await Bun.build({
      entrypoints: [join(work, 'none.js')],
      files: { [join(work, 'none.js')]: 'import "fanfare-js"; globalThis.x = 1;' },
      target: 'browser',
      minify: true,
    });
    expect((await outputs[0]?.text())?.length).toBeLessThan(100);
  });
});

/** A server that confirms a subscription, sends an event and waits for the end of the client. */
function startServer() {
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, server) => {
      server.upgrade(request, { data: undefined });
      return undefined;
    },
    websocket: {
      open: (socket) =>
        void socket.send(
          '{"event":"pusher:connection_established","data":"{\\"socket_id\\":\\"1.1\\",\\"activity_timeout\\":120}"}',
        ),
      message: (socket, text) => {
        const { event } = JSON.parse(String(text));
        if (event === 'pusher:subscribe') {
          socket.send(
            '{"event":"pusher_internal:subscription_succeeded","channel":"news","data":"{}"}',
          );
          socket.send('{"event":"e","channel":"news","data":"{\\"text\\":\\"hello\\"}"}');
        }
      },
    },
  });
  return { port: http.port, [Symbol.dispose]: () => void http.stop(true) };
}

const PROGRAM = `
  if (Pusher.default && Pusher.default !== Pusher) throw new Error('require gives no class');
  const pusher = new Pusher('key', { host: process.env.SERVER });
  pusher.subscribe('news').bind('e', (data) => {
    console.log(JSON.stringify(data));
    pusher.disconnect();
  });`;

describe('a program', () => {
  const commands = { node: ['node'], bun: ['sh', join(ROOT, 'scripts/bun.sh')] };

  it.each([
    ['node', 'app.mjs', `import Pusher from 'fanfare-js';`],
    ['node', 'app.cjs', `const Pusher = require('fanfare-js');`],
    ['node', 'encryption.cjs', `const Pusher = require('fanfare-js/with-encryption');`],
    ['bun', 'app.mjs', `import Pusher from 'fanfare-js';`],
    ['bun', 'lite.cjs', `const Pusher = require('fanfare-js/lite');`],
  ] as const)('of %s gets an event, and ends after disconnect(): %s', async (by, file, head) => {
    using server = startServer();
    await Bun.write(join(work, file), `${head}\n${PROGRAM}`);
    const run = Bun.spawn([...commands[by], file], {
      cwd: work,
      env: { ...process.env, SERVER: `http://127.0.0.1:${server.port}` },
      stdout: 'pipe',
    });
    expect(await run.stdout.text()).toBe('{"text":"hello"}\n');
    expect(await run.exited).toBe(0);
  });
});

it('the script for pages sets Pusher, and needs little more than WebSocket and timers', async () => {
  const text = await Bun.file(join(modules, 'fanfare-js/dist/web/pusher.min.js')).text();
  const urls: string[] = [];
  const world: Record<string, unknown> = {
    WebSocket: class {
      constructor(url: string) {
        urls.push(url);
      }
      close() {
        urls.push('closed');
      }
    },
  };
  new Function('world', text.replaceAll('globalThis', 'world'))(world);
  const Pusher = world['Pusher'] as new (key: string, options: object) => { disconnect(): void };
  const pusher = new Pusher('key', { host: 'ws.example.com' });
  pusher.disconnect();
  expect(urls).toEqual([
    expect.stringMatching(/^wss:\/\/ws\.example\.com:443\/app\/key\?/),
    'closed',
  ]);
});
