import { z } from 'zod';
import type { AskByName } from '../../asking/asker.ts';
import type { ConnectionFilter, ListedConnection } from '../../asking/facts/connections.ts';
import type { OfAllServers, OfServer } from '../../asking/facts/servers.ts';
import type { ConnectionList } from '../../asking/paging.ts';
import {
  type ChannelName,
  describeBadChannelName,
  parseChannelName,
} from '../../channels/channel-name.ts';
import { CACHE_TTL_MS } from '../../channels/event.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';
import { type Operation, operation } from '../operation.ts';
import { listLimit } from '../query-kinds.ts';
import type { Rights } from '../rights.ts';
import { server, servers, unlessAway } from './server-shapes.ts';

/** Connections that are shown with a channel. */
const CONNECTIONS_SHOWN = 100;

/** What carries a connection. */
const TRANSPORTS = ['websocket', 'http', 'sse'] as const;

const count = z.int().min(0);
const time = count.describe('Milliseconds since 1970.');
const HIDDEN = 'null if payloads are hidden from the caller.';

export const shownConnection = z
  .strictObject({
    socketId: z.string(),
    user: z.string().nullable().describe('The user that it is signed in as.'),
    address: z.string().nullable().describe(`The address of the client. ${HIDDEN}`),
    transport: z
      .enum(TRANSPORTS)
      .describe('`http`: the HTTP transports of pusher-js. `sse`: server-sent events.'),
    client: z
      .strictObject({ name: z.string(), version: z.string(), protocol: z.string() })
      .meta({ id: 'ClientLibrary' })
      .nullable()
      .describe('What the client reports about itself; null if unknown.'),
    openedAtMs: time,
    heardAtMs: time.describe('When the client last sent anything. Milliseconds since 1970.'),
    waitingBytes: count.describe('Bytes that the client has not taken yet.'),
    channels: count.describe('Channels that it is subscribed to.'),
    server,
  })
  .meta({ id: 'Connection' });

/** The operations that show single channels and connections. */
export const inspectOperations: readonly Operation[] = [
  operation({
    id: 'getChannel',
    method: 'GET',
    path: '/apps/{id}/channels/{name}',
    role: 'support',
    summary:
      'Show one channel: its counts, up to 1,000 members, the remembered event of a cache channel, and up to 100 connections.',
    answer: z
      .strictObject({
        name: z.string(),
        occupied: z.boolean(),
        subscriptions: count.describe('Connections that are subscribed, on all servers.'),
        users: count.describe('Users of a presence channel, on all servers; 0 for others.'),
        members: z.array(
          z
            .strictObject({
              userId: z.string(),
              userInfo: z.string().nullable().describe(`JSON text. ${HIDDEN}`),
            })
            .meta({ id: 'Member' }),
        ),
        cached: z
          .strictObject({
            name: z.string(),
            data: z.string().nullable().describe(`null for encrypted channels, too. ${HIDDEN}`),
            bytes: count.describe('The length of the data.'),
            ageMs: count.describe('How long ago it was sent, or the last piece of a value.'),
            value: z
              .strictObject({
                id: z.string(),
                length: count.describe('UTF-16 units.'),
                hasEnded: z.boolean(),
              })
              .meta({ id: 'GrowingValue' })
              .nullable()
              .describe('Set if backends append to it.'),
          })
          .meta({ id: 'CachedEvent' })
          .nullable()
          .describe('The last event of a cache channel, if it is remembered.'),
        servers,
        connections: z.array(shownConnection),
        moreConnections: z.boolean().describe('Whether there may be more.'),
      })
      .meta({ id: 'ChannelDetails' }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, ask }, { path, rights }) => {
      const channel = channelIn(path('name'));
      const { tenant: app } = await apps.get(path('id'));
      const asked = { appId: app.id, channel: channel.text };
      const { counts, members, cached } = await ask.loop('inspect-channel', asked);
      const { servers, connections, next } = await connectionsOf(ask, {
        ...asked,
        limit: CONNECTIONS_SHOWN,
      });
      const showsData = rights.seesPayloads && channel.kind !== 'encrypted';
      return {
        name: channel.text,
        occupied: counts.subscriptions > 0,
        subscriptions: counts.subscriptions,
        users: counts.users,
        members: members.map(({ userId, userInfo }) => ({
          userId,
          userInfo: rights.seesPayloads ? (userInfo ?? null) : null,
        })),
        cached:
          cached === undefined
            ? null
            : {
                name: cached.name,
                data: showsData ? cached.data : null,
                bytes: Buffer.byteLength(cached.data),
                ageMs: Math.max(0, Math.round(CACHE_TTL_MS - cached.leftMs)),
                value: cached.value ?? null,
              },
        servers,
        connections: connections.map((one) => showConnection(one, rights)),
        moreConnections: next !== undefined,
      };
    },
  }),
  operation({
    id: 'listConnections',
    method: 'GET',
    path: '/apps/{id}/connections',
    role: 'support',
    summary:
      'List open connections of an app, one server after the other, the oldest of each thread first.',
    query: z.strictObject({
      user: z
        .string()
        .min(1)
        .max(1_000)
        .optional()
        .describe(
          'Only those signed in as this user. With a presence channel, also those that are this member of it.',
        ),
      channel: z.string().max(200).optional().describe('Only those subscribed to this channel.'),
      address: z.string().max(100).optional().describe('Only those of this client address.'),
      limit: listLimit(100),
      after: z
        .string()
        .regex(/^[^~]{1,300}~\d{1,3}\.\d{1,15}$/, {
          error: 'must be the `next` of an earlier response',
        })
        .optional()
        .describe(
          'Continue an earlier list: its `next`. It holds until 16 other lists were begun.',
        ),
    }),
    answer: z.strictObject({
      servers,
      connections: z.array(shownConnection),
      next: z
        .string()
        .nullable()
        .describe(
          'For `after`, to continue the list; null at the end. A page may be short or empty.',
        ),
    }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, ask }, { path, query, rights }) => {
      if (query.address !== undefined && !rights.seesPayloads) {
        throw new OperationRefused('invalid', 'address: addresses are hidden from you', 'address');
      }
      const { tenant: app } = await apps.get(path('id'));
      const found = await connectionsOf(ask, { appId: app.id, ...query });
      const { servers, connections, next } = found;
      return {
        servers,
        connections: connections.map((one) => showConnection(one, rights)),
        next: next ?? null,
      };
    },
  }),
  operation({
    id: 'getConnection',
    method: 'GET',
    path: '/apps/{id}/connections/{socket}',
    role: 'support',
    summary: 'Show one open connection, whichever server has it.',
    answer: shownConnection
      .extend({
        channelNames: z.array(z.string()).describe('The first 1,000.'),
        watching: count.describe('Users on its watchlist.'),
        grants: z
          .array(
            z
              .strictObject({
                by: z.enum(['sign-in', 'token', 'setting']),
                patterns: z.array(z.string()),
                endsAtMs: z
                  .number()
                  .nullable()
                  .describe('null: it lasts as long as the connection.'),
              })
              .meta({ id: 'ConnectionGrant' }),
          )
          .describe('The last eight grants that it presented.'),
      })
      .meta({ id: 'ConnectionDetails' }),
    refusals: ['not-found', 'conflict'],
    act: async ({ apps, ask }, { path, rights }) => {
      const { tenant: app } = await apps.get(path('id'));
      const of = { appId: app.id, socketId: path('socket') };
      const { answer: found, ...asked } = await ask.everywhere('connection', of);
      if (found === undefined) throw noSuchConnection(path('socket'), asked);
      return {
        ...showConnection(found, rights),
        channelNames: found.channelNames,
        watching: found.watching,
        grants: found.grants ?? [],
      };
    },
  }),
  operation({
    id: 'endConnection',
    method: 'DELETE',
    path: '/apps/{id}/connections/{socket}',
    role: 'operator',
    summary:
      'Close one open connection with 4009, whichever server has it. Client libraries do not connect again by themselves.',
    answer: z.strictObject({ socketId: z.string(), closed: z.literal(true) }),
    refusals: ['not-found', 'conflict'],
    logLine: { message: 'Connection closed by an operator', subject: 'app' },
    act: async ({ apps, ask }, { path }) => {
      const { tenant: app } = await apps.get(path('id'));
      const of = { appId: app.id, socketId: path('socket') };
      const { answer: isFound, ...asked } = await ask.everywhere('end', of);
      if (!isFound) throw noSuchConnection(path('socket'), asked);
      return { socketId: path('socket'), closed: true as const };
    },
  }),
];

export function showConnection(
  { library, address, user, transport, ...one }: ListedConnection & OfServer,
  rights: Rights,
) {
  const { socketId, openedAtMs, heardAtMs, waitingBytes, channels, server } = one;
  return {
    socketId,
    user: user ?? null,
    address: rights.seesPayloads ? address : null,
    // Servers of another release may know further ones.
    transport: TRANSPORTS.find((one) => one === transport) ?? ('http' as const),
    client: library ?? null,
    openedAtMs,
    heardAtMs,
    waitingBytes,
    channels,
    server,
  };
}

/** Lists connections of all servers. Throws `OperationRefused` if the list to continue is not known any more. */
export async function connectionsOf(
  ask: Pick<AskByName, 'connections'>,
  filter: ConnectionFilter,
): Promise<ConnectionList> {
  const found = await ask.connections(filter);
  if (found !== 'unknown') return found;
  const why = 'after: this list is not known any more; begin again without it';
  throw new OperationRefused('invalid', why, 'after');
}

/** The channel of a path. Throws `OperationRefused`. */
export function channelIn(text: string): ChannelName {
  const parsed = parseChannelName(text);
  if (parsed.ok) return parsed.channel;
  throw new OperationRefused('invalid', describeBadChannelName(text.slice(0, 300), parsed.why));
}

function noSuchConnection(socketId: string, asked: OfAllServers): OperationRefused {
  return new OperationRefused(
    'not-found',
    `There is no open connection ${socketId.slice(0, 64)} of the app${unlessAway(asked)}`,
  );
}
