import { fieldOf, type Http2Result } from '../outgoing/http2/request.ts';

/** What a gateway answered to one request. */
export interface GatewayAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The first bytes of the body. */
  readonly body: Uint8Array;
  /** What the gateway says about the message in header fields, if it has such fields. */
  readonly headerWords?: string | undefined;
}

export function gatewayAnswer(
  result: Extract<Http2Result, { readonly result: 'answered' }>,
): GatewayAnswer {
  const { status, fields, body } = result;
  return { status, retryAfter: fieldOf(fields, 'retry-after'), body };
}
