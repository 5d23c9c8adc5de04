import type { WebPayload } from './web.ts';

/** A payload with nothing in it but these fields. */
export function webPayload(fields: Partial<WebPayload> = {}): WebPayload {
  return {
    timeToLiveSeconds: 3600,
    notification: undefined,
    data: undefined,
    urgency: 'normal',
    topic: undefined,
    appBadge: undefined,
    declarative: undefined,
    ...fields,
  };
}
