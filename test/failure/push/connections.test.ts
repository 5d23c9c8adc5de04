import { expect, it } from 'bun:test';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  markedPublish,
  newMarker,
  PushConnection,
  PushRequests,
  requestPush,
} from '../../../testing/clients/push-requests.ts';
import { requestBytes } from '../../../testing/clients/raw-http.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { brokenRows, openRows, publishesAfter } from './rows.ts';
import { acceptSome, expectKept, startPush } from './trouble.ts';

const IDLE = 1000;
const HALF = 200;
const DEAF = 20;
const BACKENDS = 10;
const ANSWERS = 30;

/** The server ends a connection that has not sent a whole head after this time. */
const HEAD_MS = 10_000;

/** Requests whose answers are not read: fewer than end the connection. */
const UNTAKEN = 30;

const requests = new PushRequests();

async function open(server: Fanfare, bytes: string | Uint8Array = ''): Promise<Socket> {
  const socket = connect(server.pushPort, '127.0.0.1');
  // The server may end it before the test does.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (bytes.length > 0) socket.write(bytes);
  return socket;
}

/** Opens `count` connections, a hundred at a time. */
async function openMany(count: number, one: (n: number) => Promise<Socket>): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Math.min(100, count - sockets.length);
    sockets.push(
      ...(await Promise.all(Array.from({ length: some }, (_, n) => one(sockets.length + n)))),
    );
  }
  return sockets;
}

/** Clients that begin what they never finish. */
function halves(): readonly Uint8Array[] {
  const whole = requestBytes(requests.publish(markedPublish(newMarker())));
  const { body: _, ...head } = requests.publish(markedPublish(newMarker()));
  const chunked = requestBytes({ ...head, chunks: ['{"interests":'] });
  return [
    whole.subarray(0, 20),
    whole.subarray(0, whole.indexOf('\r\n\r\n')),
    whole.subarray(0, whole.length - 10),
    chunked.subarray(0, chunked.length - 5),
  ];
}

/** Sends a publish, all of it or half, and is gone at once. */
async function abort(server: Fanfare, marker: string, kind: number): Promise<void> {
  const whole = requestBytes(requests.publish(markedPublish(marker)));
  const socket = await open(server);
  const sent = kind % 2 === 0 ? whole : whole.subarray(0, Math.floor(whole.length / 2));
  await new Promise<void>((resolve) => socket.write(sent, () => resolve()));
  if (kind < 2) socket.resetAndDestroy();
  else socket.destroy();
}

it('answers others while clients send nothing or half a request, or disconnect in the middle', async () => {
  // Halves of bodies may stay as long as they like: there must be many to the end.
  const environment = { FANFARE_PUSH_BODY_BYTES_PER_SECOND: '0' };
  await using server = await startPush({}, { environment });
  const accepted = await acceptSome(server);
  const interests = Array.from({ length: 100 }, (_, n) => `${n}-${'x'.repeat(150)}`);
  const { deviceId } = await acceptSome(server);
  await requestPush(server, requests.setInterests(deviceId, interests));

  const read = requestBytes(requests.readDevice(deviceId));
  const openedMs = performance.now();
  const waiting = [
    ...(await openMany(IDLE, (n) => open(server, n % 2 === 0 ? '' : read))),
    ...(await openMany(HALF, (n) => open(server, halves()[n % 4]))),
  ];
  const early: Socket[] = [];
  for (const socket of waiting) {
    socket.resume();
    socket.once('close', () => {
      if (performance.now() - openedMs < HEAD_MS - 1_000) early.push(socket);
    });
  }
  const readInterests = requestBytes(requests.readInterests(deviceId));
  const untaken = Buffer.concat(Array.from({ length: UNTAKEN }, () => readInterests));
  // They have no listener for data, so nothing is read.
  const deaf = await openMany(DEAF, () => open(server, untaken));

  const aborted: string[] = [];
  const backend = async () => {
    await using connection = await PushConnection.open(server);
    for (let n = 0; n < ANSWERS; n++) {
      const marker = newMarker();
      aborted.push(marker);
      await abort(server, marker, n % 4);
      await connection.requestOk(requests.publish(markedPublish(newMarker())));
      await connection.requestOk(requests.readDevice(deviceId));
    }
  };
  await Promise.all(Array.from({ length: BACKENDS }, backend));

  expect(early).toHaveLength(0);
  await expectKept(server, accepted);
  for (const socket of [...waiting, ...deaf]) socket.destroy();
  expect(await server.stop()).toBe(0);
  using rows = openRows(server);
  const kept = Map.groupBy(
    publishesAfter(rows, 0),
    ({ outline }) => /marker-[\w-]+/.exec(outline)?.[0] ?? '',
  );
  expect(kept.size).toBeGreaterThan(BACKENDS);
  expect(aborted.filter((marker) => (kept.get(marker)?.length ?? 0) > 1)).toEqual([]);
  expect(brokenRows(rows)).toEqual([]);
}, 180_000);
