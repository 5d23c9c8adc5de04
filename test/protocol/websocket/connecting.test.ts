import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { pathOf, RawClient } from '../../../testing/clients/raw-client.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { connect, hearsEnd, PROTOCOLS } from './conversation.ts';

/** Source: Channels protocol, §1. */

const DISABLED = { id: '4', enabled: false, keys: [{ key: 'disabled-key', secret: 's' }] };
const ROTATING = {
  id: '5',
  keys: [
    { key: 'old-key', secret: 'a' },
    { key: 'new-key', secret: 'b' },
  ],
};
const NOT_IN_CLUSTER =
  'App key nobodys-key not in this cluster. Did you forget to specify the cluster?';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ moreApps: [DISABLED, ROTATING] });
});
afterAll(() => server[Symbol.asyncDispose]());

async function open(path: string, headers: Readonly<Record<string, string>> = {}) {
  return await RawClient.open(server, { path, headers });
}

/** A header of the answer to the handshake. */
function header(client: RawClient, name: string): string[] {
  return client.responseHead
    .split('\r\n')
    .filter((line) => line.toLowerCase().startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).trim());
}

describe.each(PROTOCOLS)('a client of protocol %i', (protocol) => {
  it('gets connection_established first, and then nothing without asking', async () => {
    await using client = await RawClient.open(server, { protocol });

    const { data, ...rest } = await client.receive();

    expect(rest).toEqual({ event: 'pusher:connection_established' });
    expect(data).toBeString();
    expect(JSON.parse(String(data))).toEqual({
      socket_id: expect.stringMatching(/^\d+\.\d+$/),
      activity_timeout: 120,
    });
    await client.receiveNothing();
  });

  it('gets the same bytes as ever, and the list of extras after them only if it asks', async () => {
    const heard = async (more: string) => {
      await using client = await open(`${pathOf(protocol)}${more}`);
      const frame = await client.receiveText();
      return frame.replace(/\d+\.\d+/, 'ID');
    };
    const before = '{"event":"pusher:connection_established","data":"{';
    const fields = '\\"socket_id\\":\\"ID\\",\\"activity_timeout\\":120';

    expect(await heard('')).toBe(`${before}${fields}}"}`);
    expect(await heard('&fanfare=0.2.0')).toBe(`${before}${fields},\\"extras\\":[\\"resume\\"]}"}`);
  });

  it('gets a unique id of two numbers that JavaScript can represent exactly', async () => {
    const ids = new Set<string>();
    for (let count = 0; count < 20; count++) {
      await using client = await connect(server, protocol);
      ids.add(client.socketId);
    }

    expect(ids.size).toBe(20);
    for (const part of [...ids].flatMap((id) => id.split('.'))) {
      expect(Number(part)).toBeLessThan(2 ** 53);
      expect(String(Number(part))).toBe(part);
    }
  });

  it.each([
    ['without client and version', `/app/${APP.key}?protocol=${protocol}`],
    [
      'with unknown parameters',
      `/app/${APP.key}?a=1&protocol=${protocol}&version=x&client=%F0%9F%90%A7&b&=&c=%zz&flash=true`,
    ],
    ['with a slash at the end of the path', `/app/${APP.key}/?protocol=${protocol}`],
    ['with the first of the keys of its app', pathOf(protocol, 'old-key')],
    ['with another of the keys of its app', pathOf(protocol, 'new-key')],
  ])('is let in %s', async (_, path) => {
    await using client = await open(path);

    expect((await client.receive()).event).toBe('pusher:connection_established');
  });

  it('with an unknown key gets an error, and is closed with 4001', async () => {
    await using client = await open(pathOf(protocol, 'nobodys-key'));

    await hearsEnd(client, 4001, NOT_IN_CLUSTER);
  });

  it('of a disabled app gets an error, and is closed with 4003', async () => {
    await using client = await open(pathOf(protocol, 'disabled-key'));

    await hearsEnd(client, 4003);
  });

  it.each(['/', '/app', '/app/', '/app//', `/app/${APP.key}/more`, '/other/app/k'])(
    'is closed with 4005 at the path %s',
    async (path) => {
      await using client = await open(`${path}?protocol=${protocol}`);

      await hearsEnd(client, 4005);
    },
  );

  it('gets the subprotocol that it offers', async () => {
    const name = `pusher-channels-protocol-${protocol}`;
    await using client = await open(pathOf(protocol), { 'Sec-WebSocket-Protocol': name });

    expect(header(client, 'sec-websocket-protocol')).toEqual([name]);
    expect((await client.receive()).event).toBe('pusher:connection_established');
  });

  it('gets the one known subprotocol of those that it offers', async () => {
    const name = `pusher-channels-protocol-${protocol}`;
    await using client = await open(pathOf(protocol), {
      'Sec-WebSocket-Protocol': `soap, ${name},chat`,
    });

    expect(header(client, 'sec-websocket-protocol')).toEqual([name]);
    expect((await client.receive()).event).toBe('pusher:connection_established');
  });

  it('is accepted without a subprotocol if it offers only unknown ones', async () => {
    await using client = await open(pathOf(protocol), { 'Sec-WebSocket-Protocol': 'soap, chat' });

    expect(header(client, 'sec-websocket-protocol')).toEqual([]);
    expect((await client.receive()).event).toBe('pusher:connection_established');
  });

  it('gets the subprotocol also when it is refused', async () => {
    await using client = await open(pathOf(protocol, 'nobodys-key'), {
      'Sec-WebSocket-Protocol': 'pusher-channels-protocol-7',
    });

    expect(header(client, 'sec-websocket-protocol')).toEqual(['pusher-channels-protocol-7']);
    await hearsEnd(client, 4001, NOT_IN_CLUSTER);
  });
});

describe('the handshake', () => {
  it('is answered as in RFC 6455', async () => {
    await using client = await open(pathOf());

    expect(client.responseHead).toStartWith('HTTP/1.1 101 ');
    // The nonce of the example in the RFC.
    expect(header(client, 'sec-websocket-accept')).toEqual(['s3pPLMBiTxaQ9kYGzzhZRbK+xOo=']);
    expect(header(client, 'upgrade').join().toLowerCase()).toBe('websocket');
    expect(header(client, 'sec-websocket-protocol')).toEqual([]);
  });

  it('does not agree to compression', async () => {
    await using client = await open(pathOf(), {
      'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits',
    });

    expect(header(client, 'sec-websocket-extensions')).toEqual([]);
    expect((await client.receive()).event).toBe('pusher:connection_established');
  });

  it('is refused over HTTP if it is invalid', async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}${pathOf()}`, {
      headers: { upgrade: 'websocket' },
    });

    expect(response.status).toBe(400);
    await response.text();
  });

  it('keeps the reason of a close valid if the key is long and not ASCII', async () => {
    for (const key of ['é'.repeat(100), `a${'é'.repeat(99)}`, '😀'.repeat(50)]) {
      await using client = await open(pathOf(7, encodeURIComponent(key)));
      const { data } = await client.receive();
      const { message } = Object(data);

      const { code, reason } = await client.closed;

      expect(code).toBe(4001);
      expect(message).toBe(NOT_IN_CLUSTER.replace('nobodys-key', key));
      // Half a character would be a protocol error of the server.
      expect(message).toStartWith(reason);
      expect(Buffer.byteLength(reason)).toBeWithin(100, 124);
    }
  });
});

describe('a client whose protocol', () => {
  const app = `/app/${APP.key}`;

  it.each(['abc', '', '7x', '7.0', 'v7', 'NaN', '7,5'])(
    'is "%s" is closed with 4006',
    async (text) => {
      await using client = await open(`${app}?protocol=${text}&client=js&version=7.6.0`);

      await hearsEnd(client, 4006);
    },
  );

  it.each(['0', '1', '2', '3', '4', '8', '70', '-7', '9'.repeat(40)])(
    'is %s is closed with 4007',
    async (text) => {
      await using client = await open(`${app}?protocol=${text}&client=js&version=7.6.0`);

      await hearsEnd(client, 4007);
    },
  );

  it.each(['', '?client=js', '?client=js&version=abc', '?version=', '?version=.7'])(
    'is missing, and whose version does not begin with an integer, is closed with 4008: "%s"',
    async (query) => {
      await using client = await open(`${app}${query}`);

      await hearsEnd(client, 4008);
    },
  );

  it.each(['5.1.1', '6.0', '7', '7.6.0-beta'])(
    'is missing uses that of its version: %s',
    async (version) => {
      await using client = await open(`${app}?client=js&version=${version}`);

      expect((await client.receive()).event).toBe('pusher:connection_established');
    },
  );

  it.each(['1.12', '4.3.0', '8.6.0'])(
    'is missing, and whose version is %s, is closed with 4007',
    async (version) => {
      await using client = await open(`${app}?client=js&version=${version}`);

      await hearsEnd(client, 4007);
    },
  );
});

describe('a server with a path prefix and an activity timeout', () => {
  let configured: Fanfare;
  beforeAll(async () => {
    configured = await startFanfare({
      channels: { pathPrefix: '/live/ws', activityTimeoutSeconds: 33 },
    });
  });
  afterAll(() => configured[Symbol.asyncDispose]());

  it('finds the app behind the prefix, and nothing behind another', async () => {
    for (const protocol of PROTOCOLS) {
      await using client = await RawClient.open(configured, {
        path: `/live/ws${pathOf(protocol)}`,
      });
      await using astray = await RawClient.open(configured, { path: `/live${pathOf(protocol)}` });

      expect((await client.receive()).event).toBe('pusher:connection_established');
      await hearsEnd(astray, 4005);
    }
  });

  it('sends its timeout to clients in seconds', async () => {
    await using client = await RawClient.open(configured, { path: `/live/ws${pathOf()}` });

    const { data } = await client.receive();

    expect(JSON.parse(String(data)).activity_timeout).toBe(33);
  });
});
