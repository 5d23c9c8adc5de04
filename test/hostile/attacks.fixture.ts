import { connect } from 'node:net';
import { clientFrame, RawClient } from '../../testing/clients/raw-client.ts';

/**
 * Attacks that run at full speed for some seconds, in a process of their own. Each connects only to 127.0.0.1, ends by
 * itself, and prints its result.
 */

interface Target {
  readonly port: number;
  readonly path: string;
  readonly seconds: number;
}

const [name = '', json = '{}'] = process.argv.slice(2);
const options = JSON.parse(json) as Target & Record<string, number | string>;
const endMs = performance.now() + options.seconds * 1000;
const isOver = () => performance.now() >= endMs;

const attacks: Readonly<Record<string, () => Promise<object>>> = {
  /** One connection after the other sends frames until it is closed. */
  async frames() {
    const opcode = Number(options['opcode'] ?? 1);
    const frame = clientFrame(opcode, String(options['text'] ?? ''));
    const many = Buffer.concat(Array(1000).fill(frame));
    const codes: Record<string, number> = {};
    let connections = 0;
    while (!isOver()) {
      await using client = await RawClient.open(options, { path: options.path });
      connections++;
      let closed = false;
      void client.closed.then(({ code }) => {
        closed = true;
        codes[String(code)] = (codes[String(code)] ?? 0) + 1;
      });
      while (!closed && !isOver()) {
        client.writeBytes(many);
        await Bun.sleep(0);
      }
    }
    return { connections, codes };
  },

  /** One connection subscribes and unsubscribes repeatedly. */
  async toggles() {
    await using client = await RawClient.connect(options, { path: options.path });
    let toggles = 0;
    while (!isOver()) {
      for (let n = 0; n < 50; n++) {
        const channel = options['channel'] ?? `storm-${toggles}`;
        client.send({ event: 'pusher:subscribe', data: { channel } });
        client.send({ event: 'pusher:unsubscribe', data: { channel } });
        toggles++;
      }
      await Bun.sleep(1);
    }
    return { toggles };
  },

  /** Subscribes to as many channels as possible, on one new connection after the other. */
  async subscriptions() {
    const clients: RawClient[] = [];
    let subscribed = 0;
    while (!isOver()) {
      const client = await RawClient.connect(options, { path: options.path });
      clients.push(client);
      for (let n = 0; n < 1000; n++) {
        client.send({ event: 'pusher:subscribe', data: { channel: `many-${subscribed++}` } });
      }
      await Bun.sleep(5);
    }
    for (const client of clients) await client[Symbol.asyncDispose]();
    return { subscribed };
  },

  /** Sends subscriptions with the handshake and disconnects after some answers, repeatedly. */
  async bursts() {
    const handshake = [
      `GET ${options.path} HTTP/1.1`,
      'Host: localhost',
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13',
      '\r\n',
    ].join('\r\n');
    const frames = Array.from({ length: 999 }, (_, n) =>
      clientFrame(1, JSON.stringify({ event: 'pusher:subscribe', data: { channel: `b-${n}` } })),
    );
    const burst = Buffer.concat([Buffer.from(handshake), ...frames]);
    let connections = 0;
    const one = async () => {
      while (!isOver()) {
        const { promise, resolve } = Promise.withResolvers<void>();
        let received = 0;
        const socket = connect(options.port, '127.0.0.1', () => void socket.write(burst));
        socket.on('data', (data) => {
          received += data.length;
          if (received > 60_000) resolve();
        });
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
        setTimeout(resolve, Math.max(0, endMs - performance.now()));
        await promise;
        socket.destroy();
        connections++;
      }
    };
    await Promise.all(Array.from({ length: 16 }, one));
    return { connections };
  },

  /**
   * Several connections send one POST after the other. In `target`, `{n}` is the number of the request, and `{new}` is new in
   * each one. With `requests`, this number of requests is sent, and the time does not count.
   */
  async posts() {
    const requests = Number(options['requests'] ?? 0);
    let sent = 0;
    const isDone = () => (requests > 0 ? sent >= requests : isOver());
    const body = String(options['body'] ?? '');
    const step = Number(options['step'] ?? 1);
    const statuses: Record<string, number> = {};
    let number = Number(options['from'] ?? 1);
    const request = () => {
      number += step;
      sent++;
      const target = options.path.replace('{n}', String(number)).replace('{new}', `s${number}`);
      return (
        `POST ${target} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${options['address']}\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`
      );
    };
    const one = async () => {
      while (!isDone()) {
        const over = Promise.withResolvers<void>();
        const socket = connect(options.port, '127.0.0.1', () => void socket.write(request()));
        socket.on('data', (bytes) => {
          for (const [, status = ''] of bytes.toString('latin1').matchAll(/HTTP\/1\.1 (\d+)/g)) {
            statuses[status] = (statuses[status] ?? 0) + 1;
            if (isDone()) over.resolve();
            else socket.write(request());
          }
        });
        socket.on('error', () => undefined);
        socket.on('close', () => over.resolve());
        if (requests === 0) setTimeout(over.resolve, Math.max(0, endMs - performance.now()));
        await over.promise;
        socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: Number(options['connections'] ?? 8) }, one));
    return { statuses };
  },

  /** Sends requests whose target is expensive to read before the sender is known. */
  async requests() {
    const target = String(options['target']);
    const perSecond = Number(options['perSecond'] ?? 0);
    let sent = 0;
    const statuses: Record<string, number> = {};
    const one = async () => {
      while (!isOver()) {
        const { status } = await fetch(`http://127.0.0.1:${options.port}${target}`);
        statuses[status] = (statuses[status] ?? 0) + 1;
        sent++;
        if (perSecond > 0) await Bun.sleep(1000 / perSecond);
      }
    };
    await Promise.all([one(), one(), one(), one()]);
    return { sent, statuses };
  },
};

const attack = attacks[name];
if (attack === undefined) throw new Error(`There is no attack ${name}`);
process.stdout.write(JSON.stringify(await attack()));
process.exit(0);
