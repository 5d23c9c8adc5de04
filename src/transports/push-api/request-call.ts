import type { IncomingMessage } from 'node:http';
import { type RequestTarget, requestTarget } from '../request-target.ts';
import type { PushCall } from './call.ts';
import type { PathParams } from './routes.ts';

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
  params = NO_PARAMS;
  body: Uint8Array = NOTHING;
  private readonly request: IncomingMessage;
  private readonly target: RequestTarget;
  private parameters: URLSearchParams | undefined;

  constructor(request: IncomingMessage) {
    this.request = request;
    this.method = request.method ?? '';
    this.target = requestTarget(request.url ?? '/');
    this.path = this.target.path;
  }

  get query(): URLSearchParams {
    this.parameters ??= new URLSearchParams(this.target.query);
    return this.parameters;
  }

  get address(): string | undefined {
    return this.request.socket.remoteAddress;
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'string' ? value : value?.join(', ');
  }
}
