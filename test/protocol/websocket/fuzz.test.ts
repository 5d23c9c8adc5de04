import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { clientFrame, RawClient } from '../../../testing/clients/raw-client.ts';
import { channelAuth, trigger } from '../../../testing/clients/sign.ts';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { allChannelsVacated, type Client, connect, fresh, join, LONG_MS } from './conversation.ts';

fc.configureGlobal({ seed: testSeed() });

/**
 * No input of a client affects others: the server keeps serving, logs no error, and keeps no state of clients
 * that are gone.
 */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: { clientEvents: true, limits: { clientEventsPerSecond: 0 } },
    channels: { clientFrameBytes: 4_000_000 },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

afterEach(async () => {
  await allChannelsVacated(server);
  await isWell();
  await allChannelsVacated(server);
  const levels = server.output.stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).level);
  expect(levels).not.toContain('error');
});

/** A new client can connect, subscribe and get an event. */
async function isWell(): Promise<void> {
  expect(server.process.exitCode).toBeNull();
  const channel = fresh();
  await using client = await connect(server);
  await join(client, channel);
  await trigger(server, { name: 'e', channel, data: '' });
  expect(await client.receive()).toEqual({ event: 'e', channel, data: '' });
}

/** Connects, sends, and waits until the server has read everything: it sent a pong, or closed the connection. */
async function send(bytes: (client: Client) => Uint8Array): Promise<RawClient> {
  const client = await connect(server);
  client.writeBytes(bytes(client));
  client.writeBytes(clientFrame(9, LAST));
  let pong: string;
  do pong = await client.receivePong();
  while (pong !== LAST && pong !== '');
  return client;
}

const LAST = 'that was all';

/** Sends, and breaks the connection. */
async function sendAndVanish(bytes: (client: Client) => Uint8Array): Promise<void> {
  const client = await send(bytes);
  await client[Symbol.asyncDispose]();
}

const bytes = fc.uint8Array({ maxLength: 300 });
const opcode = fc.constantFrom(0, 1, 1, 1, 2, 3, 7, 8, 9, 10, 11, 15);

const frame = fc.oneof(
  fc
    .tuple(opcode, bytes, fc.boolean())
    .map(([code, payload, final]) => clientFrame(code, payload, final)),
  fc.string({ unit: anyCharacter, maxLength: 300 }).map((text) => clientFrame(1, text)),
  fc.json({ maxDepth: 5 }).map((text) => clientFrame(1, text)),
);

const events = [
  'pusher:subscribe',
  'pusher:unsubscribe',
  'pusher:ping',
  'pusher:pong',
  'pusher:signin',
  'pusher:error',
  'pusher_internal:member_added',
  'client-event',
  'client-',
  '__proto__',
];
const channelNames = [
  'fuzz-public',
  'cache-fuzz',
  'private-fuzz',
  'private-encrypted-fuzz',
  'private-cache-fuzz',
  'presence-fuzz',
  'presence-cache-fuzz',
  '#server-to-user-fuzz',
  '__proto__',
  'not a name',
];
const odd = fc.oneof(
  fc.constant(undefined), // which is left out
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(...channelNames),
  fc.string({ unit: anyCharacter }),
);

/** Mostly valid values. */
function mostly<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 6, arbitrary }, { weight: 1, arbitrary: odd });
}

const fields = fc.record({
  channel: mostly(fc.constantFrom(...channelNames)),
  auth: odd,
  channel_data: mostly(
    fc.record({ user_id: odd, user_info: odd }).map((data) => JSON.stringify(data)),
  ),
  user_data: odd,
  data: odd,
});

const message = fc.record({
  event: mostly(fc.constantFrom(...events)),
  channel: mostly(fc.constantFrom(...channelNames)),
  data: mostly(
    fc.oneof(
      fields,
      fields.map((data) => JSON.stringify(data)),
    ),
  ),
  user_id: odd,
});

/** A message, and whether its `data` is to be signed as the app's backend would sign it. */
const signable = fc.record({ message, signed: fc.boolean() });

type Generated<A> = A extends fc.Arbitrary<infer T> ? T : never;

/** An action of a well-behaved client as one of a few users. */
const deed = fc.record({
  event: fc.constantFrom(
    'pusher:subscribe',
    'pusher:subscribe',
    'pusher:unsubscribe',
    'client-event',
  ),
  channel: fc.constantFrom(...channelNames.slice(0, 7)),
  user: fc.integer({ min: 0, max: 3 }),
});

function textOf(client: Client, { event, channel, user }: Generated<typeof deed>): string {
  if (event === 'client-event') return JSON.stringify({ event, channel, data: { user } });
  const data = channel.startsWith('presence-') ? JSON.stringify({ user_id: user }) : undefined;
  return JSON.stringify({
    event,
    data: { channel, ...channelAuth(client.socketId, channel, data) },
  });
}

/** Signs everything that can be signed, so that the checks behind the signature are reached. */
function signedText(
  client: Client,
  { message: { data, ...rest }, signed }: Generated<typeof signable>,
): string {
  const { channel, channel_data } = Object(data);
  const sign = signed && typeof channel === 'string';
  const text = typeof channel_data === 'string' ? channel_data : undefined;
  const signature = sign ? channelAuth(client.socketId, channel, text) : {};
  const whole = { ...rest, data: sign ? { ...Object(data), ...signature } : data };
  return JSON.stringify(whole);
}

describe('the server keeps running after', () => {
  it(
    'any bytes instead of frames',
    () =>
      fc.assert(
        fc.asyncProperty(fc.array(bytes, { minLength: 1, maxLength: 5 }), async (sent) => {
          // An unfinished frame would contain a ping after it, so the end of the stream is awaited.
          const client = await connect(server);
          for (const part of sent) client.writeBytes(part);
          client.endWriting();
          await client.closed;
        }),
        { numRuns: runs(250, 1000) },
      ),
    LONG_MS,
  );

  it(
    'any bytes instead of a handshake',
    () =>
      fc.assert(
        fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (sent) => {
          const done = Promise.withResolvers<void>();
          const socket = await Bun.connect({
            hostname: '127.0.0.1',
            port: server.port,
            socket: { data: () => done.resolve(), close: () => done.resolve() },
          });
          socket.write(sent);
          socket.shutdown();
          await done.promise;
          socket.terminate();
        }),
        { numRuns: runs(125, 500) },
      ),
    LONG_MS,
  );

  it(
    'any address in a handshake',
    () =>
      fc.assert(
        fc.asyncProperty(fc.webPath(), fc.webQueryParameters(), async (path, query) => {
          const client = await RawClient.open(server, { path: `${path || '/'}?${query}` });
          await client.closed;
        }),
        { numRuns: runs(125, 500) },
      ),
    LONG_MS,
  );

  it(
    'any frames',
    () =>
      fc.assert(
        fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 10 }), (frames) =>
          sendAndVanish(() => Buffer.concat(frames)),
        ),
        { numRuns: runs(400, 1500) },
      ),
    LONG_MS,
  );

  it(
    'messages of every type, with anything in them',
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(signable, { minLength: 5, maxLength: 20, size: 'max' }),
          (messages) =>
            sendAndVanish((client) =>
              Buffer.concat(messages.map((one) => clientFrame(1, signedText(client, one)))),
            ),
        ),
        { numRuns: runs(400, 1500) },
      ),
    LONG_MS,
  );

  it(
    'clients that connect, send and leave in any order',
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(deed, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 5 }),
          async (lives) => {
            const clients = await Promise.all(
              lives.map((deeds) =>
                send((client) =>
                  Buffer.concat(deeds.map((one) => clientFrame(1, textOf(client, one)))),
                ),
              ),
            );
            for (const client of clients) await client[Symbol.asyncDispose]();
          },
        ),
        { numRuns: runs(125, 500) },
      ),
    LONG_MS,
  );

  it.each([
    ['arrays', '['.repeat(1_000_000)],
    ['arrays that end', '['.repeat(1_000_000) + ']'.repeat(1_000_000)],
    ['objects', '{"a":'.repeat(700_000)],
    ['objects that end', `${'{"a":'.repeat(500_000)}1${'}'.repeat(500_000)}`],
    [
      'data',
      `{"event":"client-x","channel":"private-x","data":${'['.repeat(1e6)}${']'.repeat(1e6)}}`,
    ],
    [
      'data in a subscription',
      `{"event":"pusher:subscribe","data":{"channel":"x","more":${'['.repeat(1e6)}${']'.repeat(1e6)}}}`,
    ],
    [
      'data in a string in a subscription',
      JSON.stringify({ event: 'pusher:subscribe', data: '[{"a":'.repeat(200_000) }),
    ],
    ['escapes', JSON.stringify({ event: 'pusher:subscribe', data: '\\'.repeat(600_000) })],
  ])(
    'a million levels of %s',
    async (_, text) => {
      await sendAndVanish(() => clientFrame(1, text));
    },
    LONG_MS,
  );

  it(
    'a member whose channel_data has a million levels',
    async () => {
      const channel = 'presence-deep';
      const data = `{"user_id":"1","user_info":{"a":${'['.repeat(1e6)}${']'.repeat(1e6)}}}`;
      await sendAndVanish((client) =>
        clientFrame(
          1,
          JSON.stringify({
            event: 'pusher:subscribe',
            data: { channel, ...channelAuth(client.socketId, channel, data) },
          }),
        ),
      );
    },
    LONG_MS,
  );
});
