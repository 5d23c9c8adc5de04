import { explainCall } from '../explain/explain-call.ts';
import type { Finding } from '../finding.ts';
import { ask, type HttpAnswer } from './http-exchange.ts';
import type { Destination } from './link.ts';
import { type Credentials, signedTarget } from './signed-request.ts';

/** One event as a backend triggers it. */
export interface TriggeredEvent {
  readonly name: string;
  readonly channel: string;
  readonly data: string;
  /** The connection that must not receive it. */
  readonly socketId?: string;
}

export type Called =
  | { readonly ok: true; readonly answer: HttpAnswer; readonly sentAtMs: number }
  | { readonly ok: false; readonly finding: Finding };

export interface ApiClientOptions {
  readonly to: Destination;
  readonly credentials: Credentials;
  /** Whether the server has accepted the key on a connection. */
  readonly keyIsKnown: boolean;
  readonly timeoutMs: number;
}

/** Calls the HTTP API as a backend does, each call on a connection of its own. */
export class ApiClient {
  private readonly options: ApiClientOptions;

  constructor(options: ApiClientOptions) {
    this.options = options;
  }

  async channels(headers?: Readonly<Record<string, string>>): Promise<Called> {
    return await this.call('GET', 'channels', undefined, headers);
  }

  async trigger(event: TriggeredEvent): Promise<Called> {
    return await this.call('POST', 'events', {
      name: event.name,
      channels: [event.channel],
      data: event.data,
      ...(event.socketId === undefined ? {} : { socket_id: event.socketId }),
    });
  }

  async triggerBatch(events: readonly TriggeredEvent[]): Promise<Called> {
    const batch = events.map(({ name, channel, data }) => ({ name, channel, data }));
    return await this.call('POST', 'batch_events', { batch });
  }

  private async call(
    method: 'GET' | 'POST',
    resource: string,
    content: object | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Called> {
    const { to, credentials, keyIsKnown, timeoutMs } = this.options;
    const { endpoint } = to;
    const path = `/apps/${credentials.appId}/${resource}`;
    const body = content === undefined ? {} : { body: JSON.stringify(content) };
    const nowMs = Date.now();
    const target = signedTarget(credentials, { method, path, ...body }, endpoint.prefix, nowMs);
    const sentAtMs = performance.now();
    const result = await ask(to, { method, target, headers, ...body }, timeoutMs);
    if (result.kind === 'answer' && result.status >= 200 && result.status < 300) {
      return { ok: true, answer: result, sentAtMs };
    }
    const finding = explainCall(result, { endpoint, path, keyIsKnown, nowMs, timeoutMs });
    return { ok: false, finding };
  }
}
