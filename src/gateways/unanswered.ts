import type { UnknownWhy, UnprocessedWhy } from '../outgoing/http2/request.ts';
import type { TroubleScope } from '../push/gateway.ts';

/**
 * Which devices are concerned when there is no answer. Only a failure before the request named a device is certainly
 * not the device's fault: a device whose requests hang must not look like a gateway that is down.
 */
const scopes: Readonly<Record<UnprocessedWhy | UnknownWhy, TroubleScope>> = {
  unreachable: 'connection',
  'not-allowed': 'connection',
  'no-http2': 'connection',
  closed: 'connection',
  'turned-away': 'gateway',
  'not-in-time': 'gateway',
  'too-many-waiting': 'gateway',
  'too-large': 'device',
  'protocol-error': 'gateway',
  silence: 'gateway',
  // These happen to one request while others succeed.
  'no-answer': 'device',
  reset: 'device',
  'connection-lost': 'device',
};

/** Which devices are concerned when a request had no answer, by its reason. Unknown reasons concern the device alone. */
export function scopeOfUnanswered(why: string): TroubleScope {
  return Object.hasOwn(scopes, why) ? scopes[why as keyof typeof scopes] : 'device';
}
