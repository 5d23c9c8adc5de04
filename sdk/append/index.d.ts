/** What is used of the library `pusher` 5 for Node. */
export interface AppendingPusher {
  trigger(
    channel: string,
    event: string,
    data: unknown,
    // biome-ignore lint/suspicious/noExplicitAny: the library declares the parameters that it knows
    params?: any,
  ): Promise<{ json(): Promise<unknown> }>;
  createSignedQueryString(options: {
    method: string;
    path: string;
    params?: Record<string, string>;
    body?: string;
  }): string;
}

export interface AppendOptions {
  /** Names the value for clients: 1 to 64 of `A-Z a-z 0-9 _ -`. */
  readonly id: string;
  /** The name of the event; `answer` by default. */
  readonly event?: string;
  /** How long text may wait for more before it is sent. Milliseconds; 25 by default. */
  readonly waitMs?: number;
  /** How often the server is asked whether to stop while nothing is written. Milliseconds; 1000 by default. */
  readonly heartbeatMs?: number;
}

/** The server's answer to the last piece. */
export interface Ended {
  /** UTF-16 units of the value. */
  readonly length: number;
  /** By channel, the id of the event that the whole value is, if the channel keeps a history. */
  readonly event_ids?: Readonly<Record<string, string>>;
  readonly stop?: true;
}

export interface AppendedValue {
  /** Adds text. It is sent soon, with what else is written until then. */
  write(text: string): void;
  /** Nothing more is written. Settles when the server has everything; rejects if it refuses more. */
  end(): Promise<Ended>;
  /**
   * Aborted when somebody has asked to stop, with an `AbortError` as its reason: stop producing, and call `end`. Aborted with the
   * library's error when nothing can be appended any more: the value was replaced, is too large, or the server refuses it.
   */
  readonly stopped: AbortSignal;
}

/**
 * Appends to a value on a cache channel. One request is in flight; what is written meanwhile goes with the next one. Requests
 * without an answer are repeated, and a value that the server has forgotten is sent again from its beginning.
 */
export function append(
  pusher: Pick<AppendingPusher, 'trigger'>,
  channel: string,
  options: AppendOptions,
): AppendedValue;

export interface ResumableOptions extends Omit<AppendOptions, 'id'> {
  /** The id of the app. */
  readonly app: string;
  /** The address of the server, such as `https://ws.example.com`. */
  readonly url: string;
  /** The cache channel of a stream; `private-cache-stream-` and its id by default. */
  readonly channel?: (id: string) => string;
}

export interface ResumableStreams {
  /**
   * Reads a stream to its end, or until the value is stopped, and appends it to a value with this id. Returns what comes of
   * it, for whoever has asked; who no longer reads that does not end it.
   */
  createNewResumableStream(
    id: string,
    makeStream: () => ReadableStream<string>,
  ): Promise<ReadableStream<string>>;
  /** The whole from its beginning, as it grows; `undefined`: there is none; `null`: it has ended. */
  resumeExistingStream(id: string): Promise<ReadableStream<string> | null | undefined>;
}

/** The two calls of `resumable-stream`, without a Redis of one's own. */
export function resumable(pusher: AppendingPusher, options: ResumableOptions): ResumableStreams;
