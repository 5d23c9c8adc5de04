import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { connect } from '../../testing/clients/official-client.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Connections of the official JavaScript client, in its build for servers, unchanged from npm. */

let server: Fanfare;

beforeAll(async () => {
  server = await startFanfare({
    moreApps: [
      { id: '5', keys: [{ key: 'disabled', secret: 'secret' }], enabled: false },
      { id: '6', keys: [{ key: 'one-at-a-time', secret: 'secret' }], limits: { connections: 1 } },
    ],
  });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

describe('connections', () => {
  /** The error of a refused connection, after the client has given up. */
  async function refusalOf(key: string): Promise<unknown> {
    using client = connect(server, { key });
    const [, error] = await client.connection.first(([event]) => event === 'error');
    if (client.pusher.connection.state !== 'disconnected') {
      await client.connection.first(([event]) => event === 'disconnected');
    }
    // No request is in flight and no timer is set: the client does not reconnect by itself.
    const { connection } = client.pusher;
    expect(Boolean(connection.runner) || Boolean(connection.retryTimer)).toBe(false);
    return error;
  }

  it('are refused with 4001 if no app has the key, and the client gives up', async () => {
    expect(await refusalOf('unknown')).toMatchObject({
      error: {
        type: 'PusherError',
        data: {
          code: 4001,
          message: 'App key unknown not in this cluster. Did you forget to specify the cluster?',
        },
      },
    });
  });

  it('are refused with 4003 if the app is disabled, and the client gives up', async () => {
    expect(await refusalOf('disabled')).toMatchObject({
      error: { data: { code: 4003, message: 'Application disabled' } },
    });
  });

  it('are refused with 4004 over the limit of the app, and the client gives up', async () => {
    using first = connect(server, { key: 'one-at-a-time' });
    await first.connected();

    expect(await refusalOf('one-at-a-time')).toMatchObject({
      error: { data: { code: 4004, message: 'Account over quota' } },
    });
  });

  it('are refused with 4100 over the limit of the server, and the client reconnects later', async () => {
    await using full = await startFanfare({
      channels: { maxConnections: 1 },
      onlyOne: 'connections',
    });
    using first = connect(full);
    await first.connected();
    using second = connect(full);
    const [, error] = await second.connection.first(([event]) => event === 'error');
    expect(error).toMatchObject({ error: { data: { code: 4100, message: 'Over capacity' } } });

    first.pusher.disconnect();

    expect(await second.connected()).toMatch(/^\d+\.\d+$/);
  });

  it('stay open when the client pings the server', async () => {
    using client = connect(server, { activityTimeout: 10, pongTimeout: 10_000 });
    await client.connected();
    for (let times = 1; times <= 3; times++) {
      await client.connection.first(
        ([event, message]) => event === 'message' && eventOf(message) === 'pusher:pong',
      );
    }
    expect(client.pusher.connection.state).toBe('connected');
  });

  it('stay open when the server pings the client', async () => {
    await using impatient = await startFanfare({
      channels: { activityTimeoutSeconds: 1, pongTimeoutSeconds: 1 },
    });
    using client = connect(impatient);
    const socketId = await client.connected();
    for (let times = 1; times <= 2; times++) {
      await client.connection.first(
        ([event, message]) =>
          event === 'message' && /^pusher:p[io]ng$/.test(String(eventOf(message))),
      );
    }
    expect(client.pusher.connection.socket_id).toBe(socketId);
  });

  function eventOf(message: unknown): unknown {
    return (message as { event?: unknown }).event;
  }
});
