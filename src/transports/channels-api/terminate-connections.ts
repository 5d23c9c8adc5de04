import { type Answer, type Call, EMPTY } from './call.ts';
import { refuseExtraneous } from './extraneous.ts';
import { overQuota } from './over-quota.ts';
import { invalid } from './problems.ts';
import { textOf } from './read-body.ts';

/** `POST /users/UID/terminate_connections`: ends every connection that is signed in as the user. */
export function terminateConnections(call: Call): Answer {
  const refused = refuseExtraneous(call.parameters) ?? refuseBody(call.body);
  if (refused !== undefined) return refused;
  if (!call.hub.usage.take(call.app, 1)) return overQuota(call.app);
  call.terminate(call.userId);
  return EMPTY;
}

/** Nothing needs to be said, but libraries send an empty object. */
function refuseBody(body: Uint8Array): Answer | undefined {
  const text = textOf(body);
  if (typeof text !== 'string') return text;
  return /^\s*(\{\s*\})?\s*$/.test(text)
    ? undefined
    : invalid(
        'The body must be empty, or an empty JSON object: no parameters are needed or allowed',
      );
}
