import type { PublishStatus } from '../../../../push/model/publish.ts';
import { readPublishId } from '../../../../push/model/publish-id.ts';
import { PushRefusal } from '../../../../push/refusal.ts';
import {
  type WaitingWay,
  waitingWays,
  waitingWaysJson,
  withWaiting,
} from '../../../../push/status/publish-pauses.ts';
import { publishStatusJson } from '../../../../push/status/publish-status.ts';
import type { Endpoint, PushAnswer } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import { backendEndpoint } from './backend-endpoint.ts';

/** No backend has published it, or that is long ago. */
export const NO_PUBLISH = new PushRefusal('publish-not-found', 'Could not find the publish');

/** `GET …/publishes/ID`: what has become of a publish. */
export function readPublish(context: EndpointContext): Endpoint {
  return statusEndpoint(context, (status, ways) => publishStatusJson(withWaiting(status, ways)));
}

/** `GET …/publishes/ID/pauses`: what its devices wait for. */
export function readPauses(context: EndpointContext): Endpoint {
  return statusEndpoint(context, waitingWaysJson);
}

/** Tells something of a publish, and of what its devices wait for as far as this server knows. */
function statusEndpoint(
  context: EndpointContext,
  tell: (status: PublishStatus, ways: readonly WaitingWay[]) => object,
): Endpoint {
  const { publishes, guard, now, pauses } = context;
  return backendEndpoint(context, 'nothing', ({ number }, { params }) => {
    const id = readPublishId(params.publishId);
    if (id === undefined) return NO_PUBLISH;
    return guard.ask(
      () => publishes.status(number, id, now()),
      (status) => {
        if (status === undefined) return NO_PUBLISH;
        const ofInstance = pauses().filter(({ instance }) => instance === number);
        return { json: JSON.stringify(tell(status, waitingWays(status, ofInstance))) };
      },
    );
  });
}

/** `DELETE …/publishes/ID`: cancels what has not gone out. */
export function cancelPublish(context: EndpointContext): Endpoint {
  const { publishes, guard, now, strangerLog } = context;
  return backendEndpoint(context, 'nothing', (instance, { params }) => {
    const id = readPublishId(params.publishId);
    if (id === undefined) return NO_PUBLISH;
    return guard.ask(
      () => publishes.cancel(instance.number, id, now()),
      (status) => {
        if (status?.isCancelledNow) {
          strangerLog.info('Publish cancelled', { instance: instance.id }, { publish: id });
        }
        return statusAnswer(status);
      },
    );
  });
}

function statusAnswer(status: PublishStatus | undefined): PushAnswer {
  return status === undefined ? NO_PUBLISH : { json: JSON.stringify(publishStatusJson(status)) };
}
