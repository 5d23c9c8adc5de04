import type { Admin, OperatorEvent, ReachedChannel } from '../../../admin/admin.ts';
import { authorise } from '../../../admin/authorise.ts';
import type { ServerLog } from '../../../admin/log/server-log.ts';
import type { Monitoring } from '../../../admin/monitoring/monitoring.ts';
import { openApi } from '../../../admin/openapi.ts';
import { API_PATH, type Operation } from '../../../admin/operation.ts';
import { operations } from '../../../admin/operations.ts';
import type { Composing } from '../../../admin/push/composing.ts';
import { DeviceAdmin } from '../../../admin/push/device-admin.ts';
import { PublishAdmin } from '../../../admin/push/publish-admin.ts';
import { type Rights, rightsOf, seesEverything } from '../../../admin/rights.ts';
import { isDryRun } from '../../../admin/tenant-shapes.ts';
import type { Config } from '../../../config/schema.ts';
import type { PushTaps } from '../../../push/watching/push-tap.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { AuditStore } from '../../../stores/admin/audit-store.ts';
import type { Database } from '../../../stores/database/database.ts';
import { isStoreFault, plainFault } from '../../../stores/database/faults.ts';
import { PublishList } from '../../../stores/push/publishes/publish-list.ts';
import { StoredPublishes } from '../../../stores/push/publishes/publish-store.ts';
import { AppAdmin } from '../../../tenants/manage-apps.ts';
import { InstanceAdmin } from '../../../tenants/manage-instances.ts';
import { OperationRefused, type RefusalCode } from '../../../tenants/operation-refused.ts';
import { type AdminAnswer, JSON_TYPE, refuse, TEXT } from '../../../transports/admin/answers.ts';
import type { AdminCall, AdminRoute } from '../../../transports/admin/routes.ts';
import type { ApiProblem } from '../../../transports/channels-api/problems.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { addFigures, type RealtimeClient } from '../../link/realtime-client.ts';
import { AuditTrail } from '../audit/audit-trail.ts';
import { logChange, logRefusedChange } from '../audit/change-log.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { dashboardRoutes } from '../dashboard/routes.ts';
import type { BackgroundMetrics } from '../monitoring/metrics.ts';
import type { Tenants } from '../tenants.ts';
import type { Watching } from '../watching.ts';
import { answered } from './answered.ts';

export interface AdminParts {
  readonly config: Pick<Config, 'admin' | 'dashboard'>;
  readonly tenants: Tenants;
  readonly database: Database;
  readonly composing: Composing;
  readonly usage: Admin['usage'];
  readonly webhooks: Webhooks;
  readonly watching: Watching;
  readonly instanceTaps: PushTaps;
  readonly cluster: Cluster;
  readonly realtime: RealtimeClient;
  readonly metrics: BackgroundMetrics;
  readonly monitoring: Monitoring;
  readonly serverLog: ServerLog;
  readonly audit: AuditStore;
  readonly log: Log;
}

/** The routes of the admin listener: `/metrics`, each operation of the admin API, and the dashboard. */
export function adminRoutes(parts: AdminParts): readonly AdminRoute[] {
  const { config, log } = parts;
  const trail = new AuditTrail({ store: parts.audit, log, clock: Date });
  const admin = adminOf(parts, trail);
  return [
    {
      method: 'GET',
      path: '/metrics',
      answer: async ({ asker }) => {
        const rights = admin.rightsOf(asker);
        return rights !== undefined && seesEverything(rights)
          ? await showMetrics(parts)
          : refuse(403, 'Metrics concern the whole server, and your role is not for all of it');
      },
    },
    ...operations.map((operation) => routeOf(operation, { admin, trail, log })),
    ...(config.dashboard.enabled
      ? dashboardRoutes({
          log,
          pathPrefix: config.admin.pathPrefix,
          channels: () => parts.monitoring.server().listeners.channels,
          push: () => parts.monitoring.server().listeners.push,
        })
      : []),
  ];
}

interface RouteParts {
  readonly admin: Admin;
  readonly trail: AuditTrail;
  readonly log: Log;
}

function routeOf(operation: Operation, { admin, trail, log }: RouteParts): AdminRoute {
  const { method, path, open, contentType = JSON_TYPE } = operation;
  return {
    method,
    path: `${API_PATH}${path}`,
    ...(open ? { isOpen: () => true } : {}),
    ...(operation.forNobody === undefined ? {} : { isForNobody: operation.forNobody }),
    async answer(call) {
      try {
        const isOpen = open === true || isForNobody(operation, call);
        const rights = isOpen ? NO_RIGHTS : admin.rightsOf(call.asker);
        if (!isOpen) authorise(operation, rights, call);
        const { status, body } = await operation.run(admin, {
          ...call,
          caller: call.asker,
          rights: rights ?? NO_RIGHTS,
        });
        if (!isTried(operation, call)) {
          logChange(log, operation, { call, answer: body });
          trail.note(operation, { call, status, answer: body });
        }
        return body instanceof ReadableStream
          ? { status, contentType, body }
          : jsonAnswer(status, body);
      } catch (error) {
        const { status, message, field } = refusalOf(error, log);
        logRefusedChange(log, operation, { call, status });
        trail.note(operation, { call, status });
        return jsonAnswer(status, { error: message, field });
      }
    },
  };
}

/** Whether this call is read-only although its operation can change something. */
function isTried({ query }: Operation, call: AdminCall): boolean {
  return 'dry-run' in query.shape && isDryRun(call.query);
}

/** Whether an unauthenticated caller is allowed. */
function isForNobody({ forNobody }: Operation, { asker, query }: AdminCall): boolean {
  return asker.how === 'nobody' && forNobody?.(query) === true;
}

/** The rights of callers who are not logged in. */
const NO_RIGHTS: Rights = { role: 'viewer', apps: [], instances: [], seesPayloads: false };

/** Converts refusals and faults of the store; rethrows everything else. */
function refusalOf(error: unknown, log: Log): OperationRefused {
  if (error instanceof OperationRefused) return error;
  if (!isStoreFault(error)) throw error;
  const why = plainFault(error);
  const exactly = error instanceof Error ? error.message : undefined;
  log.warn('Admin request could not use the store', { why, exactly });
  return new OperationRefused('unavailable', `The store cannot be used now: ${why}`);
}

function adminOf(parts: AdminParts, trail: AuditTrail): Admin {
  const { config, audit, database, tenants, composing, usage, webhooks, watching, cluster } = parts;
  const { realtime, monitoring, log } = parts;
  const { appStore, apps, instanceStore, instances, isStoreOwn } = tenants;
  const numberOf = (id: string) => instances.directory.byId(id)?.number;
  let description: Admin['description'] | undefined;
  return {
    apps: new AppAdmin({
      store: appStore,
      configured: () => apps.configured,
      isStoreOwn,
      changed: async () => {
        await apps.poll();
        try {
          // Messages are handled in order, so when the loops answer this question, they have applied the change.
          await realtime.askAll({ what: 'ping' });
        } catch (error) {
          // The change is stored. A busy realtime loop applies it later.
          log.warn('A changed app is not served yet', { why: String(error) });
        }
      },
    }),
    instances: new InstanceAdmin({
      store: instanceStore,
      configured: () => instances.configured,
      isStoreOwn,
      changed: () => instances.poll(),
    }),
    devices: new DeviceAdmin({
      database,
      numberOf,
      pauses: async (id) => (await monitoring.gateways(id)).pauses,
      taps: parts.instanceTaps,
      log,
    }),
    publishes: new PublishAdmin({
      list: new PublishList(database),
      store: new StoredPublishes(database),
      directory: instances.directory,
      taps: parts.instanceTaps,
      now: Date.now,
      log,
    }),
    composing,
    live: {
      async figures() {
        // Runs first, so that the answer of any loop includes what all loops of this process know.
        await answered(realtime.askAll({ what: 'share-figures' }));
        return addFigures(await answered(realtime.askAll({ what: 'live-figures' })));
      },
      channels: (query) => answered(realtime.ask({ what: 'live-channels', ...query })),
      send: (event) => sendEvent(realtime, event),
    },
    watch: (query, reader) => watching.open(query, reader),
    inspect: {
      channel: (appId, channel) =>
        answered(realtime.ask({ what: 'inspect-channel', appId, channel })),
      history: (appId, channel, query) =>
        answered(realtime.ask({ what: 'read-history', appId, channel, query })),
      async forgetHistory(appId, channel) {
        await answered(realtime.ask({ what: 'forget-history', appId, channel }));
      },
      problems: (appId) => cluster.problems(appId),
      connections: (filter) => cluster.connections(filter),
      connection: (appId, socketId, server) => cluster.connection(appId, socketId, server),
      end: (appId, socketId) => cluster.end(appId, socketId),
    },
    monitoring,
    serverLog: parts.serverLog,
    usage,
    webhooks: {
      list: (filter) => webhooks.list(filter),
      show: (id) => webhooks.show(id),
      replay: (id) => webhooks.replay(id),
      test: (appId, url) => webhooks.test(appId, url),
      endpoints: (ownerId) => cluster.endpoints(ownerId),
    },
    audit: {
      async list(query) {
        // Waits until the caller's own last action is in the list.
        await trail.settled();
        return await audit.list(query);
      },
    },
    rightsOf: (caller) => rightsOf(caller, config),
    // Printed on the first request: printing takes 45 ms, an eighth of a start.
    get description() {
      description ??= openApi(operations);
      return description;
    },
  };
}

async function sendEvent(
  realtime: RealtimeClient,
  { appId, name, channels, data, socketId }: OperatorEvent,
): Promise<readonly ReachedChannel[]> {
  const json = JSON.stringify({ name, channels, data, socket_id: socketId });
  const answer = await answered(realtime.ask({ what: 'send', appId, json }));
  if ('channels' in answer) return answer.channels;
  const why = answer.why.replace(/^socket_id\b/, 'socketId');
  // The message begins with the name of the field.
  const [, field] = /^([a-z]+[a-zA-Z]*(?:\[\d+\])?): /.exec(why) ?? [];
  throw new OperationRefused(sendRefusals[answer.refused] ?? 'unavailable', why, field);
}

/** How refusals of the HTTP API appear in the admin API. */
const sendRefusals: Partial<Record<ApiProblem, RefusalCode>> = {
  invalid: 'invalid',
  'not-found': 'not-found',
  'app-disabled': 'conflict',
  'data-too-large': 'too-large',
  'over-quota': 'over-limit',
  'rate-limited': 'over-limit',
};

async function showMetrics({ realtime, metrics, log }: AdminParts): Promise<AdminAnswer> {
  try {
    const body = metrics.print(await realtime.askAll({ what: 'metrics' }));
    return { status: 200, contentType: 'text/plain; version=0.0.4; charset=utf-8', body };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    log.warn('Metrics cannot be printed', { why });
    return { status: 503, contentType: TEXT, body: `${why}\n` };
  }
}

function jsonAnswer(status: number, body: unknown): AdminAnswer {
  return { status, contentType: JSON_TYPE, body: `${JSON.stringify(body)}\n` };
}
