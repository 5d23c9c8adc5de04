import type { Admin } from '../../../admin/admin.ts';
import { authorise } from '../../../admin/authorise.ts';
import { API_PATH, EVENT_STREAM, type Operation } from '../../../admin/operation.ts';
import { operations } from '../../../admin/operations.ts';
import { PathValues } from '../../../admin/path-values.ts';
import { type Rights, seesEverything } from '../../../admin/rights.ts';
import { isDryRun } from '../../../admin/tenant-shapes.ts';
import { Unanswered } from '../../../asking/unanswered.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Log } from '../../../runtime/ports.ts';
import { AuditStore } from '../../../stores/admin/audit-store.ts';
import { isStoreFault, plainFault } from '../../../stores/database/faults.ts';
import { OperationRefused } from '../../../tenants/operation-refused.ts';
import { type AdminAnswer, JSON_TYPE, refuse, TEXT } from '../../../transports/admin/answers.ts';
import type { AdminRoute } from '../../../transports/admin/routes.ts';
import { AuditTrail, ownerOf } from '../audit/audit-trail.ts';
import { logChange, logRefusedChange } from '../audit/change-log.ts';
import type { OperationCall } from '../audit/operation-call.ts';
import type { BackgroundBase } from '../base.ts';
import { dashboardRoutes } from '../dashboard/routes.ts';
import type { BackgroundMetrics } from '../monitoring/metrics.ts';
import type { Tenants } from '../tenants.ts';
import { type AdminUses, adminOf } from './admin-of.ts';

/** The routes of the admin listener: `/metrics`, each operation of the admin API, and the dashboard. */
export function adminRoutes(base: BackgroundBase, uses: AdminUses): readonly AdminRoute[] {
  const { config, database, log } = base;
  const { tenants, monitoring } = uses;
  const audit = new AuditStore(database);
  const trail = new AuditTrail({ store: audit, log, clock: Date });
  const admin = adminOf(base, uses, {
    async list(query) {
      // Waits until the caller's own last action is in the list.
      await trail.settled();
      return await audit.list(query);
    },
  });
  return [
    {
      method: 'GET',
      path: '/metrics',
      answer: async ({ caller, reportRefused }) => {
        const rights = admin.rightsOf(caller);
        if (rights === undefined) reportRefused('no-role');
        return rights !== undefined && seesEverything(rights)
          ? await showMetrics(base, monitoring.metrics)
          : refuse(403, 'Metrics concern the whole server, and your role is not for all of it');
      },
    },
    ...operations.map((operation) => routeOf(operation, { admin, trail, tenants, log })),
    ...(config.dashboard.enabled
      ? dashboardRoutes({
          log,
          pathPrefix: config.admin.pathPrefix,
          channels: () => monitoring.facts().listeners.channels,
          push: () => monitoring.facts().listeners.push,
        })
      : []),
  ];
}

interface RouteParts {
  readonly admin: Admin;
  readonly trail: AuditTrail;
  readonly tenants: Tenants;
  readonly log: Log;
}

function routeOf(operation: Operation, { admin, trail, tenants, log }: RouteParts): AdminRoute {
  const { method, path, open } = operation;
  return {
    method,
    path: `${API_PATH}${path}`,
    ...(open ? { isOpen: () => true } : {}),
    ...(operation.forNobody === undefined ? {} : { isForNobody: operation.forNobody }),
    async answer(matched) {
      const call = { ...matched, path: new PathValues(path, matched.path) };
      const isOpen = open === true || isForNobody(operation, call);
      const rights = isOpen ? NO_RIGHTS : admin.rightsOf(call.caller);
      try {
        if (!isOpen) authorise(operation, rights, call);
        const { status, body } = await operation.run(admin, {
          ...call,
          caller: call.caller,
          rights: rights ?? NO_RIGHTS,
        });
        if (!isTried(operation, call)) {
          logChange(log, operation, { call, answer: body });
          trail.note(operation, { call, status, answer: body });
        }
        return body instanceof ReadableStream
          ? { status, contentType: EVENT_STREAM, body }
          : jsonAnswer(status, body);
      } catch (error) {
        const { status, message, field } = refusalOf(error, log);
        if (rights === undefined) {
          // Who may do nothing also writes nothing.
          call.reportRefused('no-role');
        } else {
          const subject = await knownSubject(operation, call, { admin, tenants });
          const refused = { call, status, subject };
          logRefusedChange(log, operation, refused);
          trail.noteRefused(operation, refused);
        }
        return jsonAnswer(status, { error: message, field });
      }
    },
  };
}

/** The id of the app, instance or webhook that a call names, if it exists. */
async function knownSubject(
  { path, logLine }: Operation,
  call: OperationCall,
  { admin, tenants: { apps, instances } }: Pick<RouteParts, 'admin' | 'tenants'>,
): Promise<string | undefined> {
  const id = call.path.of('id');
  if (path.startsWith('/apps/{id}')) return apps.directory.byId(id)?.id;
  if (path.startsWith('/instances/{id}')) return instances.directory.byId(id)?.id;
  if (path.startsWith('/webhooks/{id}') && logLine !== undefined) {
    // The refusal matters more than what the list says of it.
    const webhook = await admin.webhooks.show(id).catch(() => undefined);
    return webhook?.id;
  }
  const owner = ownerOf(path, call.body);
  if (owner?.kind === 'app') return apps.directory.byId(owner.id)?.id;
  return owner && instances.directory.byId(owner.id)?.id;
}

/** Whether this call is read-only although its operation can change something. */
function isTried({ query }: Operation, call: OperationCall): boolean {
  return 'dry-run' in query.shape && isDryRun(call.query);
}

/** Whether an unauthenticated caller is allowed. */
function isForNobody({ forNobody }: Operation, { caller, query }: OperationCall): boolean {
  return caller.how === 'nobody' && forNobody?.(query) === true;
}

/** The rights of callers who are not logged in. */
const NO_RIGHTS: Rights = { role: 'viewer', apps: [], instances: [], seesPayloads: false };

/** Converts refusals and faults of the store; rethrows everything else. */
function refusalOf(error: unknown, log: Log): OperationRefused {
  if (error instanceof OperationRefused) return error;
  if (error instanceof Unanswered) return new OperationRefused(error.code, error.message);
  if (!isStoreFault(error)) throw error;
  const why = plainFault(error);
  const exactly = messageOf(error);
  log.warn('Admin request could not use the store', { why, exactly });
  return new OperationRefused('unavailable', `The store cannot be used now: ${why}`);
}

async function showMetrics(
  { realtime, log }: BackgroundBase,
  metrics: BackgroundMetrics,
): Promise<AdminAnswer> {
  try {
    const body = metrics.print(await realtime.askAll('metrics', {}));
    return { status: 200, contentType: 'text/plain; version=0.0.4; charset=utf-8', body };
  } catch (error) {
    const why = messageOf(error);
    log.warn('Metrics cannot be printed', { why });
    return { status: 503, contentType: TEXT, body: `${why}\n` };
  }
}

function jsonAnswer(status: number, body: unknown): AdminAnswer {
  return { status, contentType: JSON_TYPE, body: `${JSON.stringify(body)}\n` };
}
