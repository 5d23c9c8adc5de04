/** Fields of a form, or headers. */
export type Fields = Readonly<Record<string, string>>;

type GivenOrMade<T> = T | (() => T | Promise<T>);

export interface AuthorizeOptions {
  /** The URL of your backend that answers for several channels at once. */
  readonly endpoint: string;
  /** The URL of your backend that signs users in, with grants. */
  readonly userEndpoint?: string;
  /** Gives a JWT, in place of `userEndpoint`. Called for each connection. */
  readonly token?: () => string | Promise<string>;
  /** The claim of the token with its channels, if it is not `channels`. */
  readonly channelsClaim?: string;
  /** Headers of all requests, such as those against CSRF. */
  readonly headers?: GivenOrMade<Fields>;
  /** More fields of all requests. */
  readonly params?: GivenOrMade<Fields>;
  /** How long channels are collected for one request. Milliseconds; 0: those of one turn. */
  readonly delayMs?: number;
}

interface Handled<Params, Answer> {
  readonly endpoint: string;
  readonly transport: 'ajax';
  readonly customHandler: (
    params: Params,
    done: (error: Error | null, answer: Answer | null) => void,
  ) => void;
}

export interface Authorization {
  channelAuthorization: Handled<
    { socketId: string; channelName: string },
    { auth: string; channel_data?: string; shared_secret?: string }
  >;
  /** There with `userEndpoint` or `token`. */
  userAuthentication?: Handled<{ socketId: string }, { auth: string; user_data: string }>;
}

/**
 * Makes options for pusher-js or Laravel Echo, to be spread into theirs. Channels that the grant of the sign-in covers need no
 * request; the others of one turn, and all encrypted ones, share one.
 */
export function authorize(options: AuthorizeOptions): Authorization;
