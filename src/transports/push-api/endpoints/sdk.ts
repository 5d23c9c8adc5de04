import { PushRefusal } from '../../../push/refusal.ts';
import type { Endpoint, PushHead } from '../call.ts';
import { serviceWorkerScript } from '../service-worker/service-worker.ts';
import type { EndpointContext, PushEndpointSettings } from './context.ts';

/** A name or an address, and perhaps a port. It gets into a script, so nothing else may be there. */
const HOST = /^(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;

/** `GET /sdk/service-worker.js`: what sites load in place of the SDK's own, with this server's address in it. */
export function readServiceWorker({ settings }: EndpointContext): Endpoint {
  return {
    answer(call) {
      const endpoint = settings.publicUrl ?? originOf(call, settings);
      if (endpoint === undefined) {
        return new PushRefusal(
          'bad-request',
          'The Host header is missing or not valid, and the server was not told its public address',
        );
      }
      return {
        text: serviceWorkerScript(endpoint),
        contentType: 'text/javascript; charset=utf-8',
        headers: {
          // Asked for anew each time: a changed server is then known at once.
          'cache-control': 'no-cache',
          // Sites that isolate themselves load scripts of others only with it.
          'cross-origin-resource-policy': 'cross-origin',
        },
      };
    },
  };
}

/** The origin that whoever asks has asked, as far as a proxy in between tells. */
function originOf(head: PushHead, { tls }: PushEndpointSettings): string | undefined {
  const host = head.header('host') ?? '';
  if (!HOST.test(host)) return undefined;
  const forwarded = head.header('x-forwarded-proto')?.split(',', 1)[0]?.trim().toLowerCase();
  const own = tls ? 'https' : 'http';
  return `${forwarded === 'https' || forwarded === 'http' ? forwarded : own}://${host}`;
}
