import type { PublishStatus } from '../../../../push/model/publish.ts';
import { readPublishId } from '../../../../push/model/publish-id.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import {
  type PublishPause,
  pausesOf,
  publishPausesJson,
  withPausedDevices,
} from '../../../../push/status/publish-pauses.ts';
import { publishStatusJson } from '../../../../push/status/publish-status.ts';
import type { PushAnswer, PushEndpoint } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import { backendEndpoint } from './backend-endpoint.ts';

/** Never published, or forgotten since. */
export const NO_PUBLISH = new PushRefusal('publish-not-found', 'Could not find the publish');

/** `GET …/publishes/ID`: the status of a publish. */
export function readPublish(context: EndpointContext): PushEndpoint {
  return statusEndpoint(context, (status, pauses) =>
    publishStatusJson(withPausedDevices(status, pauses)),
  );
}

/** `GET …/publishes/ID/pauses`: the pauses that its devices wait for. */
export function readPauses(context: EndpointContext): PushEndpoint {
  return statusEndpoint(context, publishPausesJson);
}

/** Answers with the status of a publish and the pauses that this server knows of. */
function statusEndpoint(
  context: EndpointContext,
  json: (status: PublishStatus, pauses: readonly PublishPause[]) => object,
): PushEndpoint {
  const { publishes, guard, now, pauses } = context;
  return backendEndpoint(context, 'nothing', ({ number }, { params }) => {
    const id = readPublishId(params.publishId);
    if (id === undefined) return NO_PUBLISH;
    return guard.ask(
      () => publishes.status({ instance: number, id, nowMs: now() }),
      (status) => {
        if (status === undefined) return NO_PUBLISH;
        const ofInstance = pauses().filter(({ instance }) => instance === number);
        return { json: JSON.stringify(json(status, pausesOf(status, ofInstance))) };
      },
    );
  });
}

/** `DELETE …/publishes/ID`: cancels what was not sent yet. */
export function cancelPublish(context: EndpointContext): PushEndpoint {
  const { publishes, taps, guard, now, rateLimitedLog } = context;
  return backendEndpoint(context, 'nothing', (instance, { params }) => {
    const id = readPublishId(params.publishId);
    if (id === undefined) return NO_PUBLISH;
    return guard.ask(
      () => publishes.cancel({ instance: instance.number, id, nowMs: now() }),
      (status) => {
        if (status?.isCancelledNow) {
          rateLimitedLog.info('Publish cancelled', { instance: instance.id }, { publish: id });
          taps.watched?.get(instance.number)?.record({ kind: 'cancelled', publish: id });
        }
        return statusAnswer(status);
      },
    );
  });
}

function statusAnswer(status: PublishStatus | undefined): PushAnswer {
  return status === undefined ? NO_PUBLISH : { json: JSON.stringify(publishStatusJson(status)) };
}
