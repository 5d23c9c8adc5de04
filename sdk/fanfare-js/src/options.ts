export type AuthTransport = 'ajax' | 'jsonp';
export type TransportName = 'ws' | 'wss' | 'xhr_streaming' | 'xhr_polling' | 'sockjs';

/** The answer of a backend about a channel. */
export interface AuthorizationData {
  auth: string;
  channel_data?: string;
  shared_secret?: string;
}

/** The answer of a backend about the user. */
export interface AuthenticationData {
  auth: string;
  user_data: string;
}

type Callback<Data> = (error: Error | string | null, data?: Data | null) => void;
export type AuthorizationCallback = Callback<AuthorizationData>;
export type AuthenticationCallback = Callback<AuthenticationData>;

export type ChannelAuthorizationHandler = (
  params: { readonly socketId: string; readonly channelName: string },
  callback: AuthorizationCallback,
) => void;
export type UserAuthenticationHandler = (
  params: { readonly socketId: string },
  callback: AuthenticationCallback,
) => void;

type Fields = Readonly<Record<string, string | number | boolean>>;

/** How to ask a backend. */
export interface RequestOptions {
  readonly transport: AuthTransport;
  readonly endpoint: string;
  readonly params?: Fields;
  readonly headers?: Readonly<Record<string, string>>;
  readonly paramsProvider?: () => Fields;
  readonly headersProvider?: () => Readonly<Record<string, string>>;
  /** That of `fetch`. By default, cookies go to the page's own site. */
  readonly credentials?: 'include' | 'omit' | 'same-origin';
}

type AuthOptions<AuthHandler> =
  | Partial<RequestOptions>
  | {
      readonly customHandler: AuthHandler;
      readonly transport?: string;
      readonly endpoint?: string;
    };
export type ChannelAuthorizationOptions = AuthOptions<ChannelAuthorizationHandler>;
export type UserAuthenticationOptions = AuthOptions<UserAuthenticationHandler>;

/** The old way to authorise by a function of the application. */
export type AuthorizerGenerator = (
  channel: object,
  options: {
    readonly authTransport: AuthTransport;
    readonly authEndpoint: string;
    readonly auth: { readonly params?: Fields | undefined; readonly headers?: object | undefined };
  },
) => { authorize(socketId: string, callback: AuthorizationCallback): void };

/** What is used of tweetnacl. */
export interface Nacl {
  readonly secretbox: {
    open(box: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array | null;
    readonly overheadLength: number;
    readonly nonceLength: number;
  };
}

export interface Options {
  readonly activityTimeout?: number;
  readonly auth?: Pick<RequestOptions, 'params' | 'headers'>;
  readonly authEndpoint?: string;
  readonly authTransport?: AuthTransport;
  readonly authorizer?: AuthorizerGenerator;
  readonly channelAuthorization?: ChannelAuthorizationOptions;
  readonly userAuthentication?: UserAuthenticationOptions;
  /** Needed where there is no `host`. */
  readonly cluster?: string;
  /** Statistics do not exist: these are accepted and have no effect. */
  readonly enableStats?: boolean;
  readonly disableStats?: boolean;
  readonly statsHost?: string;
  readonly timelineParams?: object;
  readonly ignoreNullOrigin?: boolean;
  readonly disabledTransports?: readonly TransportName[];
  readonly enabledTransports?: readonly TransportName[];
  readonly forceTLS?: boolean;
  /** `ws.example.com` or `http://127.0.0.1:6001`: host, port and TLS of WebSocket and HTTP. */
  readonly host?: string;
  readonly httpHost?: string;
  readonly httpPath?: string;
  readonly httpPort?: number;
  readonly httpsPort?: number;
  readonly nacl?: Nacl;
  readonly pongTimeout?: number;
  /** `false`: channels do not get what they have missed. `after`: what the page has already, by channel. */
  readonly resume?:
    | false
    | { readonly after?: Readonly<Record<string, string | null | undefined>> };
  readonly unavailableTimeout?: number;
  readonly wsHost?: string;
  readonly wsPath?: string;
  readonly wsPort?: number;
  readonly wssPort?: number;
}

/** The options with their defaults. */
export interface Config {
  readonly activityTimeout: number;
  readonly cluster?: string;
  readonly disabledTransports?: readonly string[];
  readonly enabledTransports?: readonly string[];
  readonly httpHost: string;
  readonly httpPath: string;
  readonly httpPort: number | string;
  readonly httpsPort: number | string;
  readonly nacl?: Nacl;
  readonly pongTimeout: number;
  readonly unavailableTimeout: number;
  readonly useTLS: boolean;
  readonly wsHost: string;
  readonly wsPath: string;
  readonly wsPort: number | string;
  readonly wssPort: number | string;
  readonly userAuthenticator: UserAuthenticationHandler;
  readonly channelAuthorizer: ChannelAuthorizationHandler;
}
