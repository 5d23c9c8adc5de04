import type { IncomingMessage } from 'node:http';
import { peerAddress } from '../../runtime/listen-host.ts';
import { headerOf } from '../node-http.ts';
import { type RequestTarget, requestTarget } from '../request-target.ts';

/** A request without its body. */
export interface AdminRequestHead {
  readonly method: string;
  readonly target: RequestTarget;
  /** The address at the far end of the connection: a client or a proxy. */
  readonly peer: string;
  readonly isHttp10: boolean;
  /** Whether the target is a whole URL, as clients send to a proxy. */
  readonly isForProxy: boolean;
  /** `name` is in lower case. Repeated headers are joined with commas. */
  header(name: string): string | undefined;
  /** In lower case. */
  readonly headerNames: readonly string[];
}

/** `host`: that of the listener. */
export function headOf(request: IncomingMessage, host: string): AdminRequestHead {
  const { headers, url = '/', method = '', httpVersion, socket } = request;
  return {
    method,
    target: requestTarget(url),
    peer: peerAddress(host, socket.remoteAddress),
    isHttp10: httpVersion === '1.0',
    isForProxy: !url.startsWith('/'),
    header: (name) => headerOf(request, name),
    headerNames: Object.keys(headers),
  };
}
