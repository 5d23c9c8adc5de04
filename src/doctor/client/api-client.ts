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

/** Calls the HTTP API as a backend does, each call on a connection of its own. */
export class ApiClient {
  private readonly to: Destination;
  private readonly credentials: Credentials;
  private readonly keyIsKnown: boolean;
  private readonly timeoutMs: number;

  constructor(to: Destination, credentials: Credentials, keyIsKnown: boolean, timeoutMs: number) {
    this.to = to;
    this.credentials = credentials;
    this.keyIsKnown = keyIsKnown;
    this.timeoutMs = timeoutMs;
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
    const { endpoint } = this.to;
    const path = `/apps/${this.credentials.appId}/${resource}`;
    const body = content === undefined ? {} : { body: JSON.stringify(content) };
    const nowMs = Date.now();
    const target = signedTarget(
      this.credentials,
      { method, path, ...body },
      endpoint.prefix,
      nowMs,
    );
    const sentAtMs = performance.now();
    const result = await ask(this.to, { method, target, headers, ...body }, this.timeoutMs);
    if (result.kind === 'answer' && result.status >= 200 && result.status < 300) {
      return { ok: true, answer: result, sentAtMs };
    }
    const { keyIsKnown, timeoutMs } = this;
    const finding = explainCall(result, { endpoint, path, keyIsKnown, nowMs, timeoutMs });
    return { ok: false, finding };
  }
}
