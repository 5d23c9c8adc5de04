import { afterEach, expect, it } from 'bun:test';
import { Inbox } from '../../../../testing/inbox.ts';
import { HTTPSocket } from './http-socket.ts';

/** A response that the test writes. */
interface Receiving {
  readonly path: string;
  readonly query: URLSearchParams;
  write(text: string): void;
  end(): void;
}

/** A server that says only what a test makes it say. */
class Server implements Disposable {
  readonly receiving = new Inbox<Receiving>('The server');
  readonly sends = new Inbox<readonly string[]>('The server');
  /** What it waits for before it answers a send. */
  gate: Promise<unknown> = Promise.resolve();
  status = 204;
  readonly http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { pathname: path, searchParams: query } = new URL(request.url);
      if (path.endsWith('/xhr_send')) {
        this.sends.put((await request.json()) as readonly string[]);
        await this.gate;
        return new Response(null, { status: this.status });
      }
      let controller: ReadableStreamDefaultController | undefined;
      const body = new ReadableStream({
        start: (given) => {
          controller = given;
        },
      });
      const encoder = new TextEncoder();
      this.receiving.put({
        path,
        query,
        write: (text) => controller?.enqueue(encoder.encode(text)),
        end: () => controller?.close(),
      });
      return new Response(body);
    },
  });

  open(isStreaming: boolean) {
    const url = `http://127.0.0.1:${this.http.port}/pusher/app/key?protocol=7`;
    const socket = new HTTPSocket(url, isStreaming);
    const opened = Promise.withResolvers<void>();
    const messages = new Inbox<string>('The client');
    const closed = Promise.withResolvers<object>();
    const activity = new Inbox<true>('The client');
    socket.onopen = () => opened.resolve();
    socket.onmessage = ({ data }) => messages.put(data);
    socket.onclose = (event) => closed.resolve(event);
    socket.onactivity = () => activity.put(true);
    sockets.push(socket);
    return { socket, opened: opened.promise, messages, closed: closed.promise, activity };
  }

  [Symbol.dispose](): void {
    this.http.stop(true);
  }
}

const sockets: HTTPSocket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close();
});

it('asks at the addresses of pusher-js, and numbers its requests', async () => {
  using server = new Server();
  const { socket, opened } = server.open(true);
  const stream = await server.receiving.next();
  expect(stream.path).toMatch(/^\/pusher\/app\/key\/\d{1,3}\/[0-9a-v]{8}\/xhr_streaming$/);
  expect([...stream.query.keys()]).toEqual(['protocol', 't', 'n']);
  stream.write('o\n');
  await opened;
  socket.send('a');
  expect(await server.sends.next()).toEqual(['a']);
});

it('reads lines wherever they are cut, and what follows a line that is none', async () => {
  using server = new Server();
  const { opened, messages, closed } = server.open(true);
  const stream = await server.receiving.next();
  stream.write('o');
  stream.write('\na["1","2"]\nm"3');
  await opened;
  expect([await messages.next(), await messages.next()]).toEqual(['1', '2']);
  stream.write('"\n \nx\na[]\nc[4200,"Bye"]\n');
  expect(await messages.next()).toBe('3');
  expect(await closed).toEqual({ code: 4200, reason: 'Bye', wasClean: true });
});

it('sends in order: what is said during a request goes with the next one', async () => {
  using server = new Server();
  const { socket, opened } = server.open(true);
  (await server.receiving.next()).write('o\n');
  await opened;
  const gate = Promise.withResolvers<void>();
  server.gate = gate.promise;
  for (const text of ['1', '2', '3']) socket.send(text);
  socket.ping();
  expect(await server.sends.next()).toEqual(['1']);
  gate.resolve();
  expect(await server.sends.next()).toEqual(['2', '3']);
  socket.ping();
  expect(await server.sends.next()).toEqual([]);
});

it('answers a heartbeat of a stream', async () => {
  using server = new Server();
  const { opened } = server.open(true);
  const stream = await server.receiving.next();
  stream.write('o\n');
  await opened;
  stream.write('h\n');
  expect(await server.sends.next()).toEqual([]);
});

it('ends when a message was not taken, so that none is lost in silence', async () => {
  using server = new Server();
  const { socket, opened, closed } = server.open(true);
  (await server.receiving.next()).write('o\n');
  await opened;
  server.status = 502;
  socket.send('a');
  expect(await closed).toEqual({
    code: 1006,
    reason: 'Connection interrupted (502)',
    wasClean: false,
  });
});

it('goes on in a new request, of the same session, after 262,144 units', async () => {
  using server = new Server();
  const { opened, messages, activity } = server.open(true);
  const first = await server.receiving.next();
  first.write('o\n');
  await opened;
  const filler = `${' '.repeat(262_140 - 2)}\n`;
  first.write(filler);
  await activity.next();
  first.write('a["€"]\n');
  expect(await messages.next()).toBe('€');
  const second = await server.receiving.next();
  expect(second.path).toBe(first.path);
  second.write('a["2"]\n');
  expect(await messages.next()).toBe('2');
});

it('polls again after each answer, and ends when a stream ends', async () => {
  using server = new Server();
  const polling = server.open(false);
  const poll = await server.receiving.next();
  expect(poll.path).toEndWith('/xhr');
  poll.write('o\n');
  poll.end();
  await polling.opened;
  const next = await server.receiving.next();
  next.write('a["1"]\n');
  next.end();
  expect(await polling.messages.next()).toBe('1');
  await server.receiving.next();

  const streaming = server.open(true);
  const stream = await server.receiving.next();
  stream.write('o\n');
  await streaming.opened;
  stream.end();
  expect(await streaming.closed).toMatchObject({
    code: 1006,
    reason: 'Connection interrupted (200)',
    wasClean: false,
  });
});

it('ends when the server has lost its session', async () => {
  using server = new Server();
  const { opened, closed } = server.open(true);
  const stream = await server.receiving.next();
  stream.write('o\n');
  await opened;
  stream.write('o\n');
  expect(await closed).toMatchObject({ code: 1006, reason: 'Server lost session' });
});
