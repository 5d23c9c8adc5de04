import { PushRefusal } from '../../../push/refusal.ts';
import { hasTooManyParameters, PARAMETERS_MAX } from '../../request-target.ts';
import { bodyBytesMax, type Endpoints, type PushEndpoint } from '../call.ts';
import { preflightOf } from '../cors.ts';
import type { FoundPushRoute } from '../routes.ts';
import type { RequestCall } from './request-call.ts';

/** Seconds after which a client should ask again while the server starts or is overloaded. */
export const SOON_SECONDS = 1;

/** The answer to a request that does not depend on its body. */
export type HeadAnswer = PushRefusal | 'preflight';

/** What the head of a request alone decides. */
export type CheckedHead =
  | {
      readonly answer: HeadAnswer;
      /** The methods of the path. */
      readonly allow?: string;
    }
  | {
      readonly answer?: undefined;
      readonly endpoint: PushEndpoint;
      readonly bodyBytesMax: number;
      /** The number of the instance whose secret key the request has. */
      readonly backend: number | undefined;
    };

/** Checks the head of a request. `endpoints` is `undefined` while the server starts. */
export function checkHead(
  call: RequestCall,
  found: FoundPushRoute,
  endpoints: Endpoints | undefined,
): CheckedHead {
  if (call.lacksHost) {
    return { answer: new PushRefusal('bad-request', 'The Host header is missing') };
  }
  if (call.method === 'OPTIONS' && preflightOf(found.family) !== undefined) {
    return { answer: 'preflight' };
  }
  switch (found.found) {
    case 'nothing':
      return { answer: new PushRefusal('not-found', 'There is no such path') };
    case 'no-instance':
      return {
        answer: new PushRefusal('incomplete', 'The instance-id is missing from the path'),
      };
    case 'path': {
      const { allow } = found;
      return { answer: new PushRefusal('wrong-method', `This path takes ${allow}`), allow };
    }
    case 'endpoint': {
      if (endpoints === undefined) {
        return { answer: new PushRefusal('store', 'The server is starting', SOON_SECONDS) };
      }
      if (hasTooManyParameters(call.rawQuery)) {
        const why = `The query may have ${PARAMETERS_MAX} parameters at most`;
        return { answer: new PushRefusal('bad-request', why) };
      }
      const endpoint = endpoints[found.endpoint];
      call.params = found.params;
      const checked = endpoint.checkHead?.(call);
      if (checked instanceof PushRefusal) return { answer: checked };
      return {
        endpoint,
        bodyBytesMax: bodyBytesMax(found.endpoint),
        backend: checked?.instance,
      };
    }
    default:
      return found satisfies never;
  }
}
