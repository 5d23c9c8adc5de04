import { addressKey } from '../../../runtime/ip-address.ts';
import type { TrustedProxies } from '../../../runtime/trusted-proxies.ts';
import {
  type RequestTarget,
  requestTarget,
  withOneSlash,
  withoutPrefix,
} from '../../request-target.ts';
import type { Client, PushCall } from '../call.ts';
import type { PathParams } from '../routes.ts';
import type { RequestHead } from './http/request-head.ts';

const NOTHING = new Uint8Array(0);

const NO_PARAMS: PathParams = {
  instance: '',
  platform: undefined,
  device: '',
  name: '',
  publishId: '',
  rest: '',
};

export interface RequestCallOptions {
  readonly proxies: TrustedProxies;
  /** The prefix under which a proxy mounts this listener. */
  readonly pathPrefix: string;
}

/** A request as endpoints see it. The query is parsed only when an endpoint asks for it. */
export class RequestCall implements PushCall {
  readonly method: string;
  readonly path: string;
  readonly address: string;
  readonly addressKey: string;
  params = NO_PARAMS;
  body: Uint8Array = NOTHING;
  private readonly head: RequestHead;
  private readonly target: RequestTarget;
  private parameters: URLSearchParams | undefined;

  constructor(head: RequestHead, peer: Client, options: RequestCallOptions) {
    const { proxies, pathPrefix } = options;
    this.head = head;
    this.method = head.method;
    this.target = requestTarget(head.target);
    this.path = withOneSlash(withoutPrefix(withOneSlash(this.target.path), pathPrefix));
    const address = proxies.trusts(peer.address)
      ? proxies.clientOf(peer.address, {
          xForwardedFor: this.header('x-forwarded-for'),
          forwarded: this.header('forwarded'),
        })
      : peer.address;
    this.address = address;
    this.addressKey = address === peer.address ? peer.addressKey : addressKey(address);
  }

  /** Whether the request lacks the Host header that its version of HTTP demands. */
  get lacksHost(): boolean {
    return this.head.isCurrent && !this.head.headers.has('host');
  }

  /** The query, not decoded. */
  get rawQuery(): string {
    return this.target.query;
  }

  get query(): URLSearchParams {
    this.parameters ??= new URLSearchParams(this.target.query);
    return this.parameters;
  }

  header(name: string): string | undefined {
    return this.head.headers.get(name);
  }
}
