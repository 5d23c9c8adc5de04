import { z } from 'zod';
import { type InstanceId, readInstanceId } from '../push/model/instance-id.ts';
import { readUserId } from '../push/model/user-id.ts';
import { OperationRefused } from '../tenants/operation-refused.ts';
import type { Admin } from './admin.ts';
import { connectionsOf, showConnection, shownConnection } from './channels/inspect-operations.ts';
import { servers } from './channels/server-shapes.ts';
import { type Operation, operation } from './operation.ts';
import { deviceFilter, showDevice, shownDevice } from './push/device-shapes.ts';
import { showLastPublish, shownLastPublish } from './push/device-story-shapes.ts';
import { type Rights, seesApp, seesInstance } from './rights.ts';

const CONNECTIONS_SHOWN = 20;
const ASKED_AT_ONCE = 5;
const DEVICES_SHOWN = 50;
const PUBLISHES_SHOWN = 10;

/** The most devices whose publishes are listed: those seen last. */
const DEVICES_EXPLAINED = 5;

const ownerId = z.string().min(1).max(200).optional();

/** The operation that shows one user in both products. */
export const userOperations: readonly Operation[] = [
  operation({
    id: 'getUser',
    role: 'support',
    restricted: 'filtered',
    method: 'GET',
    path: '/users/{user}',
    summary:
      'Show one user: connections and channels in an app, devices and newest publishes in a push instance. Name at least one of both.',
    query: z.strictObject({
      app: ownerId.describe('An app in which the user signs in.'),
      channel: z
        .string()
        .startsWith('presence-', { error: 'must be a presence channel' })
        .max(200)
        .optional()
        .describe('Also show connections that are this member of a presence channel of the app.'),
      instance: ownerId.describe('A push instance in which the user has devices.'),
    }),
    answer: z
      .strictObject({
        user: z.string(),
        app: z
          .strictObject({
            id: z.string(),
            online: z
              .boolean()
              .nullable()
              .describe('Whether the user is signed in on any server. null: Redis is away.'),
            sinceMs: z.int().nullable().describe('Since when the user is online.'),
            lastSeenMs: z
              .int()
              .nullable()
              .describe(
                'When the last connection ended of a user who is offline. null: not known; it is kept for seven days.',
              ),
            servers,
            connections: z
              .array(
                shownConnection
                  .extend({
                    channelNames: z.array(z.string()).describe('The first 1,000.'),
                  })
                  .meta({ id: 'UserConnection' }),
              )
              .describe(`Connections of the user. Up to ${CONNECTIONS_SHOWN}.`),
            moreConnections: z.boolean(),
          })
          .nullable()
          .describe('null: no app was named.'),
        push: z
          .strictObject({
            id: z.string(),
            devices: z.array(shownDevice).describe(`Up to ${DEVICES_SHOWN}, the oldest first.`),
            moreDevices: z.boolean(),
            publishes: z
              .array(shownLastPublish)
              .describe(
                `The newest publishes for the ${DEVICES_EXPLAINED} devices that were seen last.`,
              ),
            looked: z.int().min(0).describe('How many publishes of the instance were looked at.'),
          })
          .nullable()
          .describe('null: no instance was named.'),
      })
      .meta({ id: 'User' }),
    refusals: ['not-found', 'conflict'],
    act: async (admin, { path, query: { app, channel, instance }, rights }) => {
      const read = readUserId(path('user'));
      if (!read.ok) throw new OperationRefused('invalid', `user: ${read.why}`, 'user');
      if (app === undefined && instance === undefined) {
        throw new OperationRefused('invalid', 'Name an app, an instance, or both in the query');
      }
      const user = read.userId;
      const [ofApp, ofInstance] = await Promise.all([
        app === undefined ? null : inApp(admin, { user, id: app, channel, rights }),
        instance === undefined
          ? null
          : inInstance(admin, { user, id: readInstanceId(instance), rights }),
      ]);
      return { user, app: ofApp, push: ofInstance };
    },
  }),
];

interface Wanted {
  readonly user: string;
  readonly id: string;
  readonly rights: Rights;
}

async function inApp(
  { apps, ask }: Admin,
  { user, id, channel, rights }: Wanted & { readonly channel: string | undefined },
) {
  if (!seesApp(rights, id)) throw new OperationRefused('not-found', `There is no app ${id}`);
  const { tenant: app } = await apps.get(id);
  const query = { appId: app.id, user, limit: CONNECTIONS_SHOWN };
  const [status, signedIn, members] = await Promise.all([
    ask.loop('user-status', { appId: app.id, user }),
    connectionsOf(ask, query),
    channel === undefined ? undefined : connectionsOf(ask, { ...query, channel }),
  ]);
  const { servers } = signedIn;
  const all = [...signedIn.connections, ...(members?.connections ?? [])];
  const unique = [...new Map(all.map((one) => [one.socketId, one])).values()];
  const connections = unique.slice(0, CONNECTIONS_SHOWN);
  const channelNames = new Map<string, readonly string[]>();
  // Some at a time: each may be a question to another server.
  for (let at = 0; at < connections.length; at += ASKED_AT_ONCE) {
    const some = connections.slice(at, at + ASKED_AT_ONCE);
    await Promise.all(
      some.map(async ({ socketId, server }) => {
        const found = await ask.server(server, 'connection', { appId: app.id, socketId });
        // It may have ended since.
        const names = found === undefined || found === 'none' ? [] : found.channelNames;
        channelNames.set(socketId, names);
      }),
    );
  }
  const { isOnline, sinceMs, lastSeenMs } =
    status === 'unknown' ? { isOnline: null, sinceMs: null, lastSeenMs: null } : status;
  return {
    id: app.id,
    online: isOnline,
    sinceMs: sinceMs ?? null,
    lastSeenMs: lastSeenMs ?? null,
    servers,
    connections: connections.map((one) => ({
      ...showConnection(one, rights),
      channelNames: channelNames.get(one.socketId) ?? [],
    })),
    moreConnections:
      unique.length > connections.length ||
      [signedIn.next, members?.next].some((next) => next !== undefined),
  };
}

async function inInstance(
  { devices }: Admin,
  { user, id, rights }: Omit<Wanted, 'id'> & { readonly id: InstanceId },
) {
  if (!seesInstance(rights, id)) {
    throw new OperationRefused('not-found', `There is no instance ${id}`);
  }
  const filter = deviceFilter({ user });
  const found = await devices.list(id, { filter, after: 0, limit: DEVICES_SHOWN });
  const lastSeen = found.devices
    .toSorted((a, b) => b.seenAtMs - a.seenAtMs)
    .slice(0, DEVICES_EXPLAINED);
  const { publishes, looked } = await devices.lastPublishes(id, lastSeen, {
    limit: PUBLISHES_SHOWN,
  });
  return {
    id,
    devices: found.devices.map((one) => showDevice(one, rights)),
    moreDevices: found.next !== undefined,
    publishes: publishes.map(showLastPublish),
    looked,
  };
}
