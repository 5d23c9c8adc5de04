import { PushRefusal } from '../../../push/refusal.ts';
import type { PushEndpoint, PushHead } from '../call.ts';
import { serviceWorkerScript } from '../service-worker/service-worker.ts';
import type { EndpointContext } from './context.ts';

/** A host with an optional port. It is put into a script, so no other characters are allowed. */
const HOST = /^(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/i;

/** `GET /sdk/service-worker.js`: the service worker that sites load instead of the SDK's, with this server's address in it. */
export function readServiceWorker({ settings }: EndpointContext): PushEndpoint {
  return {
    answer(call) {
      const { publicUrl, pathPrefix, tls } = settings();
      const origin = publicUrl ?? originOf(call, tls);
      if (origin === undefined) {
        return new PushRefusal(
          'bad-request',
          'The Host header is missing or not valid, and the setting push.publicUrl is not set',
        );
      }
      return {
        text: serviceWorkerScript(origin + pathPrefix),
        contentType: 'text/javascript; charset=utf-8',
        headers: {
          // Browsers then notice a changed server at once.
          'cache-control': 'no-cache',
          // Cross-origin isolated sites refuse scripts without it.
          'cross-origin-resource-policy': 'cross-origin',
        },
      };
    },
  };
}

/** The origin that the client used, with the scheme that a proxy in between reports. */
function originOf(head: PushHead, tls: boolean): string | undefined {
  const host = head.header('host') ?? '';
  if (!HOST.test(host)) return undefined;
  const forwarded = head.header('x-forwarded-proto')?.split(',', 1)[0]?.trim().toLowerCase();
  const own = tls ? 'https' : 'http';
  return `${forwarded === 'https' || forwarded === 'http' ? forwarded : own}://${host}`;
}
