import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';

/**
 * A hostile client of the push listener, in a process of its own: `bun push-attacker.fixture.ts JSON`. It runs until it
 * is killed, and prints a line with its counts every 100 ms.
 */
export interface AttackOptions {
  readonly port: number;
  readonly instance: string;
  /** The addresses of this machine that it comes from, one connection after the other. */
  readonly from: readonly string[];
  readonly attack: keyof typeof attacks;
  readonly connections: number;
  /** Of the instance, for attacks by its backend. */
  readonly secretKey?: string;
}

export interface AttackCounts {
  readonly sent: number;
  readonly status: Readonly<Record<string, number>>;
  readonly closed: number;
}

const options: AttackOptions = JSON.parse(process.argv[2] ?? '{}');
const counts = { sent: 0, status: {} as Record<string, number>, closed: 0 };
const DEVICES = `/device_api/v1/instances/${options.instance}/devices/fcm`;
const REPORTS = `/reporting_api/v2/instances/${options.instance}/events`;

const PUBLISHES = `/publish_api/v1/instances/${options.instance}/publishes`;

const NAMES = JSON.stringify({
  interests: Array.from({ length: 5000 }, (_, n) => `${n}-`.padEnd(164, 'x')),
});

function request(method: string, target: string, body = ''): string {
  const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const { secretKey } = options;
  const key = secretKey === undefined ? '' : `Authorization: Bearer ${secretKey}\r\n`;
  return `${method} ${target} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${key}${length}\r\n${body}`;
}

/** Sizes of unfinished bodies. If one is refused, the next one is tried. */
const HELD_SIZES = [1_040_000, 90_000, 9_000, 900, 90];

let connections = 0;

/** Opens a connection, and another one when it is closed. */
function open(opened: (socket: Socket) => void, answered: (socket: Socket, text: string) => void) {
  const socket = connect({
    port: options.port,
    host: '127.0.0.1',
    localAddress: options.from[connections++ % options.from.length] ?? '',
  });
  socket.on('connect', () => opened(socket));
  socket.on('data', (bytes) => {
    const text = bytes.toString('latin1');
    for (const [, status = ''] of text.matchAll(/HTTP\/1\.1 (\d+)/g)) {
      counts.status[status] = (counts.status[status] ?? 0) + 1;
    }
    answered(socket, text);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    counts.closed++;
    setTimeout(() => open(opened, answered), 10);
  });
}

function send(socket: Socket, text: string): void {
  counts.sent++;
  socket.write(text);
}

const register = () =>
  request('POST', DEVICES, JSON.stringify({ token: `${crypto.randomUUID()}`.padEnd(4000, 'x') }));

const report = () =>
  request(
    'POST',
    REPORTS,
    JSON.stringify({
      event: 'open',
      publishId: `pubid-${crypto.randomUUID()}`,
      deviceId: `fcm-${crypto.randomUUID()}`,
      timestampSecs: 1,
    }),
  );

const attacks = {
  /** Registers devices with the maximum number of interests, and reports, as fast as it gets answers. */
  write() {
    let turn = 0;
    open(
      (socket) => send(socket, register()),
      (socket, text) => {
        const id = /"id":"([^"]+)"/.exec(text)?.[1];
        turn++;
        if (id !== undefined) send(socket, request('PUT', `${DEVICES}/${id}/interests`, NAMES));
        else if (/HTTP\/1\.1 \d+/.test(text)) send(socket, turn % 2 === 0 ? register() : report());
      },
    );
  },

  /** Uses up the rate of changed rows: first the burst, and then every row that becomes available. */
  rows() {
    let device: string | undefined;
    const change = () => request('PUT', `${DEVICES}/${device}/metadata`, '{}');
    open(
      (socket) => send(socket, device === undefined ? register() : change()),
      (socket, text) => {
        const id = /"id":"([^"]+)"/.exec(text)?.[1];
        device ??= id;
        if (id !== undefined) send(socket, request('PUT', `${DEVICES}/${id}/interests`, NAMES));
        else if (/HTTP\/1\.1 \d+/.test(text)) send(socket, change());
      },
    );
  },

  /** Sends large bodies except their end, then small ones for the remaining room, and keeps the connections. */
  hold() {
    let device: string | undefined;
    let size = 0;
    const half = (id: string) => {
      const bytes = HELD_SIZES[size] ?? 20;
      return request('PUT', `${DEVICES}/${id}/interests`, 'x'.repeat(bytes + 8_000)).slice(
        0,
        -8_000,
      );
    };
    open(
      (socket) => send(socket, device === undefined ? register() : half(device)),
      (socket, text) => {
        const id = /"id":"([^"]+)"/.exec(text)?.[1];
        if (id === undefined) {
          // Refused: there may be room for less.
          size++;
          socket.destroy();
          return;
        }
        device = id;
        send(socket, half(id));
      },
    );
  },

  /** Publishes once on each connection, and cancels that publish repeatedly, with 16 requests in flight. */
  cancel() {
    let publish: string | undefined;
    const cancel = () => request('DELETE', `${PUBLISHES}/${publish}`);
    // Scheduled: otherwise it may be finished before it is cancelled.
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const body = JSON.stringify({ interests: ['nobody'], sendAt, fcm: { data: { a: 'b' } } });
    const begin = (socket: Socket) => {
      if (publish === undefined)
        return send(socket, request('POST', `${PUBLISHES}/interests`, body));
      for (let n = 0; n < 16; n++) send(socket, cancel());
    };
    open(begin, (socket, text) => {
      publish ??= /"publishId":"([^"]+)"/.exec(text)?.[1];
      if (publish === undefined) return;
      for (const _ of text.matchAll(/HTTP\/1\.1 \d+/g)) send(socket, cancel());
    });
  },

  /** Sends 32 reports at once, and 32 more after they are answered. */
  pipeline() {
    const many = () => Array.from({ length: 32 }, report).join('');
    const unanswered = new WeakMap<Socket, number>();
    const again = (socket: Socket) => {
      unanswered.set(socket, 32);
      counts.sent += 32;
      socket.write(many());
    };
    open(again, (socket, text) => {
      const answers = text.split('HTTP/1.1 ').length - 1;
      const left = (unanswered.get(socket) ?? 0) - answers;
      unanswered.set(socket, left);
      if (left <= 0) again(socket);
    });
  },
};

if (import.meta.main) {
  // An attacker on another machine would use no processor time of the server's machine.
  setPriority(constants.priority.PRIORITY_LOW);
  for (let n = 0; n < options.connections; n++) attacks[options.attack]();
  setInterval(() => console.log(JSON.stringify(counts)), 100);
}
