import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import type PusherServer from 'pusher';
import { append, resumable } from '../../sdk/append/index.js';
import { admin } from '../../testing/clients/admin-api.ts';
import { connect } from '../../testing/clients/official-client.ts';
import { codeIn } from '../../testing/doc-code.ts';
import { eventually } from '../../testing/eventually.ts';
import { Inbox } from '../../testing/inbox.ts';
import { type AppBackend, startAppBackend } from '../../testing/servers/app-backend.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Values that grow, with the official libraries unchanged, the plugin `fanfare/append`, and the code of docs/reference/values.md. */

const PAGE = join(import.meta.dir, '../../docs/reference/values.md');

let server: Fanfare;
let backend: AppBackend;
let pusher: PusherServer;
beforeAll(async () => {
  server = await startFanfare({ app: { clientEvents: true } });
  backend = startAppBackend(server);
  pusher = backend.library;
});
afterAll(async () => {
  backend[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const client = () => connect(server, { backend, user: 'ann' });

const streams = () => resumable(pusher, { app: APP.id, url: `http://127.0.0.1:${server.port}` });

/** A stream whose texts the test writes. */
function source() {
  let controller: ReadableStreamDefaultController<string> | undefined;
  const cancelled = Promise.withResolvers<unknown>();
  const stream = new ReadableStream<string>({
    start: (given) => {
      controller = given;
    },
    cancel: cancelled.resolve,
  });
  return {
    stream,
    cancelled: cancelled.promise,
    write: (text: string) => controller?.enqueue(text),
    end: () => controller?.close(),
  };
}

interface TextReader {
  read(): Promise<{ readonly done: boolean; readonly value?: string | undefined }>;
}

/** Reads on until all of a text has come. */
async function readUpTo(reader: TextReader, whole: string) {
  let read = '';
  while (read.length < whole.length) {
    const { value, done } = await reader.read();
    if (done) break;
    read += value;
  }
  expect(read).toBe(whole);
}

async function opened(id: string): Promise<TextReader> {
  const stream = await eventually(
    () => streams().resumeExistingStream(id),
    (found) => found !== undefined,
  );
  if (stream === undefined || stream === null) throw new Error('There is no stream');
  return stream.getReader();
}

describe('resumable', () => {
  it('gives the whole to whoever comes later, and goes on after a cut', async () => {
    expect(await streams().resumeExistingStream('none')).toBeUndefined();
    const { stream, write, end } = source();
    const own = (await streams().createNewResumableStream('s1', () => stream)).getReader();
    let whole = '';
    const more = (texts: readonly string[]) => {
      for (const text of texts) write(text);
      whole += texts.join('');
    };
    more(['data: "He', 'llo"\n\n', '👍\u2028']);
    const reload = await opened('s1');
    await readUpTo(reload, whole);
    more(['more', ' and more']);
    const second = await opened('s1');
    await readUpTo(reload, 'more and more');
    await readUpTo(second, whole);

    const path = `/apps/${APP.id}/connections`;
    const { json } = await admin(server, 'GET', path);
    const { connections } = json as { readonly connections: { readonly socketId: string }[] };
    expect(connections).toHaveLength(2);
    for (const { socketId } of connections) await admin(server, 'DELETE', `${path}/${socketId}`);
    more(['behind the cut']);
    end();
    for (const reader of [reload, second]) {
      await readUpTo(reader, 'behind the cut');
      expect(await reader.read()).toEqual({ value: undefined, done: true });
    }
    await readUpTo(own, whole);
    expect((await own.read()).done).toBe(true);
    expect(await streams().resumeExistingStream('s1')).toBeNull();
  });

  it('ends its source when a client asks to stop', async () => {
    const { stream, cancelled, write } = source();
    using page = client();
    const channel = page.subscribe('private-cache-stream-s2');
    await channel.subscribed();
    const own = (await streams().createNewResumableStream('s2', () => stream)).getReader();
    write('never ending');
    await readUpTo(own, 'never ending');
    await opened('s2');
    channel.channel.trigger('client-stop', { id: 's2' });
    expect(await cancelled).toMatchObject({ name: 'AbortError' });
    expect((await own.read()).done).toBe(true);
    await eventually(
      () => streams().resumeExistingStream('s2'),
      (found) => found === null,
    );
  });
});

describe('append', () => {
  it('is over when another value has the channel', async () => {
    const first = append(pusher, 'cache-answers', { id: 'm1', heartbeatMs: 20 });
    first.write('a');
    const over = new Promise((resolve) =>
      first.stopped.addEventListener('abort', () => resolve(first.stopped.reason)),
    );
    // Its first request may come after the second value has begun.
    await eventually(
      async () =>
        (await pusher.get({ path: '/channels/cache-answers', params: { info: 'cache' } })).json(),
      (known) => Object(known).cache !== null,
    );
    const second = append(pusher, 'cache-answers', { id: 'm2' });
    second.write('b');
    expect(await second.end()).toEqual({ length: 1 });
    expect(await over).toMatchObject({ status: 409 });
    await expect(first.end()).rejects.toMatchObject({ status: 409 });
  });
});

describe('the page', () => {
  it('has code that sends a value, shows it, and asks to stop', async () => {
    using page = client();
    const { channel } = page.subscribe('private-cache-chat-7');
    const shown = new Inbox<readonly [text: string, isEnded: boolean]>('The page');
    const show = (...call: [string, boolean]) => shown.put(call);
    const show1 = new Function('channel', 'show', await codeIn(PAGE, 'js', 'channel.bind'));
    show1(channel, show);
    const run = async (text: string) => {
      const body = await codeIn(PAGE, 'js', text);
      await new Function('pusher', 'channel', `return (async () => { ${body} })()`)(
        pusher,
        channel,
      );
    };
    await run('end: true');
    let last: readonly [string, boolean] = ['', false];
    while (!last[1]) last = await shown.next();
    expect(last).toEqual(['Hello', true]);

    const value = append(pusher, 'private-cache-chat-7', { id: 'msg_1', heartbeatMs: 20 });
    value.write('Hel');
    expect(await shown.next()).toEqual(['Hel', false]);
    const stopped = new Promise((resolve) => value.stopped.addEventListener('abort', resolve));
    await run('client-stop');
    await stopped;
    await run('stop: true');
    await value.end();
  });
});
