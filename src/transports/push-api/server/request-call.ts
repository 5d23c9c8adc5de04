import type { IncomingMessage } from 'node:http';
import { addressKey } from '../../../runtime/ip-address.ts';
import type { TrustedProxies } from '../../../runtime/trusted-proxies.ts';
import { type RequestTarget, requestTarget } from '../../request-target.ts';
import type { PushCall } from '../call.ts';
import type { PathParams } from '../routes.ts';
import type { Connection } from './connection.ts';

/** Who is at the other end of a connection. */
type Peer = Pick<Connection, 'peer' | 'peerKey'>;

const NOTHING = new Uint8Array(0);

const NO_PARAMS: PathParams = {
  instance: '',
  platform: undefined,
  device: '',
  name: '',
  publishId: '',
  rest: '',
};

/** A request of `node:http`, as endpoints see it. What few of them ask for is made when they do. */
export class RequestCall implements PushCall {
  readonly method: string;
  readonly path: string;
  readonly address: string;
  readonly addressKey: string;
  params = NO_PARAMS;
  body: Uint8Array = NOTHING;
  private readonly request: IncomingMessage;
  private readonly target: RequestTarget;
  private parameters: URLSearchParams | undefined;

  constructor(request: IncomingMessage, { peer, peerKey }: Peer, proxies: TrustedProxies) {
    this.request = request;
    this.method = request.method ?? '';
    this.target = requestTarget(request.url ?? '/');
    this.path = this.target.path;
    const address = proxies.isEmpty
      ? peer
      : proxies.clientOf(peer, {
          xForwardedFor: this.header('x-forwarded-for'),
          forwarded: this.header('forwarded'),
        });
    this.address = address;
    this.addressKey = address === peer ? peerKey : addressKey(address);
  }

  /** Whether the query has more parameters than `most`; it is not read for that. */
  hasMoreParameters(most: number): boolean {
    const { query } = this.target;
    let parameters = 1;
    for (let at = query.indexOf('&'); at >= 0; at = query.indexOf('&', at + 1)) {
      parameters++;
      if (parameters > most) return true;
    }
    return false;
  }

  get query(): URLSearchParams {
    this.parameters ??= new URLSearchParams(this.target.query);
    return this.parameters;
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'string' ? value : value?.join(', ');
  }
}
