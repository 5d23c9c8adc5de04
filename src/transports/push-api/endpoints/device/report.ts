import { PushRefusal } from '../../../../push/refusal.ts';
import { readReport } from '../../../../push/requests/report.ts';
import { readJsonObject } from '../../../../runtime/json-object.ts';
import type { PushAnswer, PushEndpoint } from '../../call.ts';
import { refuseContentType } from '../content-type.ts';
import type { EndpointContext } from '../context.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const ACCEPTED: PushAnswer = { json: '{}' };

/**
 * `POST /reporting_api/v2/…/events`: a device reports that a notification was delivered or opened. Reports about
 * unknown instances, publishes or devices succeed and are dropped: iOS would register again after a 404. Source: §3.7
 * and §3.8.
 */
export function report(context: EndpointContext): PushEndpoint {
  const { instances, publishes, webhooks, taps, guard, now, rates } = context;
  return {
    checkHead(head) {
      const { instance } = head.params;
      const refused = refuseContentType(head);
      if (refused !== undefined) return refused;
      if (!UUID.test(instance)) {
        return new PushRefusal('bad-request', 'The instance id in the path must be a UUID');
      }
      const known = instances.byId(instance);
      return known === undefined
        ? rates.refuseAddress('reports', head)
        : rates.refuse('reports', head, known);
    },
    answer(call) {
      const body = readJsonObject(call.body);
      if (body === undefined) {
        return new PushRefusal('bad-request', 'The body cannot be read as a JSON object');
      }
      const read = readReport(body);
      if (read instanceof PushRefusal) return read;
      const instance = instances.byId(call.params.instance);
      if (instance === undefined) return guard.unavailable() ?? ACCEPTED;
      return guard.ask(
        () => publishes.report({ instance: instance.number, report: read, nowMs: now() }),
        (kept) => {
          if (kept !== undefined) {
            taps.watched?.get(instance.number)?.record({
              kind: read.event === 'open' ? 'opened' : 'delivered',
              publish: read.publishId,
              device: read.deviceId,
              user: kept.userId,
            });
          }
          const userId = reportingUser(read.userId, kept?.userId);
          if (userId !== undefined) webhooks.reported(instance.id, { ...read, userId });
          return ACCEPTED;
        },
      );
    },
  };
}

/**
 * The user that a webhook may name for a report, if any. Reports are not authenticated, so only the user of the device
 * counts, and a report that names another user is ignored. Source: push protocol, §3.8.
 */
function reportingUser(
  reported: string | undefined,
  ofDevice: string | undefined,
): string | undefined {
  return reported === undefined || reported === ofDevice ? ofDevice : undefined;
}
