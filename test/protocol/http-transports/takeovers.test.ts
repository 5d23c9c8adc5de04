import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import {
  messagesOf,
  RECEIVE_QUERY,
  SessionRequests,
} from '../../../testing/clients/session-requests.ts';
import { trigger } from '../../../testing/clients/sign.ts';
import { Waiting } from '../../../testing/clients/waiting.ts';
import { eventually } from '../../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { channels, fresh } from '../websocket/conversation.ts';
import { subscribe } from './opened.ts';

/** Source: HTTP transports, §10.3. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

type Kind = 'xhr_streaming' | 'xhr';

/**
 * The receive requests of one session, each on a connection of its own, so that they come to all realtime threads. What
 * arrives in one turn of the loop is read in the order of the requests: the system may report their sockets in any order.
 */
class ReceiveRequests {
  readonly id = crypto.randomUUID().slice(0, 8);
  /** The lines that have arrived, without those of HTTP. */
  readonly lines: string[] = [];
  private readonly sockets = new Map<number, Bun.Socket>();
  private requests = 0;
  private arrived: { readonly number: number; readonly text: string }[] = [];
  private readonly rests = new Map<number, string>();
  private readonly waiting = new Waiting();

  /** Begins a request, and returns its number. */
  async begin(kind: Kind): Promise<number> {
    this.requests++;
    const number = this.requests;
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: server.port,
      socket: { data: (_, bytes) => this.arrive(number, bytes.toString()) },
    });
    this.sockets.set(number, socket);
    socket.write(
      `POST /pusher/app/${APP.key}/606/${this.id}/${kind}?${RECEIVE_QUERY}&n=${number} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`,
    );
    return number;
  }

  break(number: number): void {
    this.sockets.get(number)?.terminate();
  }

  breakAll(): void {
    for (const socket of this.sockets.values()) socket.terminate();
  }

  async until(isDone: (lines: readonly string[]) => boolean, what: string): Promise<void> {
    await this.waiting.until(
      () => isDone(this.lines),
      `${what}; received: ${this.lines.slice(-5)}`,
    );
  }

  get events(): readonly string[] {
    const messages = this.lines.filter((line) => line.startsWith('a')).flatMap(messagesOf);
    return messages.map(({ event }) => event);
  }

  private arrive(number: number, text: string): void {
    this.arrived.push({ number, text });
    if (this.arrived.length === 1) setImmediate(() => this.read());
  }

  private read(): void {
    const arrived = this.arrived.toSorted((a, b) => a.number - b.number);
    this.arrived = [];
    for (const { number, text } of arrived) {
      const lines = `${this.rests.get(number) ?? ''}${text}`.split('\n');
      this.rests.set(number, lines.pop() ?? '');
      this.lines.push(...lines.filter((line) => /^(o|[ac]\[.*)$/.test(line)));
    }
    this.waiting.wake();
  }
}

/** Requests of an open session, and what sends to it. */
async function opened(): Promise<{ requests: ReceiveRequests; sends: SessionRequests }> {
  const requests = new ReceiveRequests();
  await requests.begin('xhr_streaming');
  await requests.until(() => requests.events.length === 1, 'the established connection');
  const sends = new SessionRequests(server, { session: requests.id });
  // Each request of a page has a number of its own.
  while (sends.skip() < 1000);
  return { requests, sends };
}

describe('a stream that is replaced again and again', () => {
  it('has every event once and in order, whichever thread has its requests', async () => {
    const { requests, sends } = await opened();
    const channel = fresh();
    await sends.send(subscribe(channel));
    await requests.until(() => requests.events.length === 2, 'the subscription');
    const names = Array.from({ length: 400 }, (_, n) => `${n}`);

    const published = (async () => {
      for (const name of names) await trigger(server, { name, channel, data: '' });
    })();
    for (let n = 0; n < 25; n++) {
      const number = await requests.begin('xhr_streaming');
      // A line of its own, or an event, shows that it has taken over. Then a few more events.
      const seen = requests.lines.length;
      await requests.until((lines) => lines.length > seen + (number % 4), 'a line');
    }
    await published;
    await requests.until(() => requests.events.length >= names.length + 2, 'all events');

    expect(requests.events.slice(2)).toEqual(names);
    expect(requests.lines.filter((line) => !line.startsWith('a'))).toEqual(['o']);
    requests.breakAll();
  });

  it('continues its session if its client breaks it after sending the next one', async () => {
    const { requests } = await opened();
    let newest = 1;
    for (let n = 0; n < 20; n++) {
      const seen = requests.lines.length;
      const next = await requests.begin('xhr_streaming');
      requests.break(newest);
      newest = next;
      await requests.until((lines) => lines.length > seen, 'a line');
    }
    expect(requests.lines).toEqual(['o', expect.any(String), ...Array(20).fill('a[]')]);
    requests.breakAll();
  });

  it('ends its session when its client breaks the last one', async () => {
    const { requests, sends } = await opened();
    const channel = fresh();
    await sends.send(subscribe(channel));
    await requests.until(() => requests.events.length === 2, 'the subscription');
    await requests.begin('xhr_streaming');
    await requests.until((lines) => lines.at(-1) === 'a[]', 'a line');
    requests.breakAll();
    await eventually(
      () => channels(server),
      (occupied) => !(channel in occupied),
    );
    expect(await sends.send()).toBe(404);
  });
});

describe('two first requests of a session at the same time', () => {
  it.each([
    ['xhr_streaming', 'xhr_streaming'],
    ['xhr_streaming', 'xhr'],
    ['xhr', 'xhr_streaming'],
    ['xhr', 'xhr'],
  ] as const)('open it once, by %s and %s', async (one, other) => {
    for (let n = 0; n < 5; n++) {
      const requests = new ReceiveRequests();
      await Promise.all([requests.begin(one), requests.begin(other)]);
      await requests.until((lines) => lines.length > 0, 'the first line');
      await requests.begin('xhr_streaming');
      await requests.until(() => requests.events.length > 0, 'the established connection');
      const sends = new SessionRequests(server, { session: requests.id });
      while (sends.skip() < 3);
      // The answer shows that all requests before it were handled.
      await sends.send({ event: 'pusher:ping' });
      await requests.until(() => requests.events.includes('pusher:pong'), 'a pong');

      expect(requests.lines.filter((line) => !line.startsWith('a'))).toEqual(['o']);
      expect(requests.events).toEqual(['pusher:connection_established', 'pusher:pong']);
      requests.breakAll();
    }
  });
});
