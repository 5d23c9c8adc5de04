import { join } from 'node:path';
import type Pusher from 'pusher';
import { ENCRYPTION_MASTER_KEY } from '../../testing/servers/app-backend.ts';
import { APP, type Fanfare } from '../../testing/servers/fanfare.ts';
import { JsonProcess } from './json-process.ts';

type HostOptions = Extract<Pusher.Options, { readonly host: string }>;

/** An answer of the server, as the library returns it. */
export interface LibraryAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** An error of the library. `RequestError` is the class that it documents for failed calls. */
export interface LibraryFailure {
  readonly isRequestError: boolean;
  readonly message: string;
  readonly status?: number;
  readonly body?: string;
}

/** The library's result for a webhook request. If the request is not valid, there are no further fields. */
export interface WebhookReading {
  readonly valid: boolean;
  readonly data?: unknown;
  readonly events?: unknown;
  readonly time?: string;
}

class CallFailed extends Error {
  readonly failure: LibraryFailure;

  constructor(failure: LibraryFailure) {
    super(`${failure.message}: ${failure.body}`);
    this.name = 'CallFailed';
    this.failure = failure;
  }
}

type Outcome = { readonly value: unknown } | { readonly error: LibraryFailure };

/** The official server library, unchanged, in another process: in Node, where most run it, or in Bun. */
export class LibraryProcess implements Disposable {
  private readonly process: JsonProcess<Outcome>;

  private constructor(command: string, setup: object, environment?: Record<string, string>) {
    const script = join(import.meta.dir, 'library-process.mjs');
    this.process = new JsonProcess(command, script, setup, environment);
  }

  /** Creates the library with an options object, as `new Pusher({...})`. */
  static open(
    command: string,
    server: Pick<Fanfare, 'port'>,
    over: Partial<HostOptions> = {},
    environment: Record<string, string> = {},
  ): LibraryProcess {
    const options: HostOptions = {
      appId: APP.id,
      key: APP.key,
      secret: APP.secret,
      host: '127.0.0.1',
      port: String(server.port),
      useTLS: false,
      encryptionMasterKeyBase64: ENCRYPTION_MASTER_KEY,
      ...over,
    };
    return new LibraryProcess(command, { options }, environment);
  }

  /** Creates the library with a URL, as `Pusher.forURL(url)`. */
  static openUrl(command: string, url: string): LibraryProcess {
    return new LibraryProcess(command, { url });
  }

  trigger(
    channels: string | readonly string[],
    event: string,
    data: unknown,
    parameters?: Pusher.TriggerParams,
  ): Promise<LibraryAnswer> {
    return this.call('trigger', channels, event, data, parameters);
  }

  triggerBatch(events: readonly Pusher.BatchEvent[]): Promise<LibraryAnswer> {
    return this.call('triggerBatch', events);
  }

  get(options: Pusher.GetOptions): Promise<LibraryAnswer> {
    return this.call('get', options);
  }

  /** The types of the library require a text body, but its code takes an object and writes it as JSON. */
  post(options: { readonly path: string; readonly body: object }): Promise<LibraryAnswer> {
    return this.call('post', options);
  }

  authorizeChannel(
    socketId: string,
    channel: string,
    data?: Pusher.PresenceChannelData,
  ): Promise<Pusher.ChannelAuthResponse> {
    return this.call('authorizeChannel', socketId, channel, data);
  }

  createSignedQueryString(options: Pusher.SignedQueryStringOptions): Promise<string> {
    return this.call('createSignedQueryString', options);
  }

  authenticateUser(
    socketId: string,
    user: Pusher.UserChannelData,
  ): Promise<Pusher.UserAuthResponse> {
    return this.call('authenticateUser', socketId, user);
  }

  sendToUser(userId: string, event: string, data: unknown): Promise<LibraryAnswer> {
    return this.call('sendToUser', userId, event, data);
  }

  terminateUserConnections(userId: string): Promise<LibraryAnswer> {
    return this.call('terminateUserConnections', userId);
  }

  /** Returns the result of `webhook(request)`, with further keys besides its own. */
  webhook(
    request: Pusher.WebHookRequest,
    extraTokens: readonly Pusher.Token[] = [],
  ): Promise<WebhookReading> {
    return this.call('webhook', request, extraTokens);
  }

  [Symbol.dispose](): void {
    this.process[Symbol.dispose]();
  }

  private async call<T>(method: string, ...args: unknown[]): Promise<T> {
    // A missing option must not arrive as null.
    const given = args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1);
    this.process.send({ method, args: given });
    const outcome = await this.process.printed.next();
    if ('error' in outcome) throw new CallFailed(outcome.error);
    return outcome.value as T;
  }
}

/** Returns the error of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<LibraryFailure> {
  try {
    await call;
  } catch (error) {
    if (error instanceof CallFailed) return error.failure;
    throw error;
  }
  throw new Error('The call did not fail');
}
