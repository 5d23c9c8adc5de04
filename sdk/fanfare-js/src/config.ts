import { authorizerBy } from './authorization/authorizer.ts';
import type { Config, Options, RequestOptions, UserAuthenticationHandler } from './options.ts';
import type { Runtime } from './runtime.ts';

/** What the configuration needs of the client. */
export interface ConfigOwner {
  readonly runtime: Runtime;
  channel(name: string): object | undefined;
}

/** The parts of the option `host`: scheme, name, port. */
const HOST = /^(?:(https?):\/\/)?([^/]+?)(?::(\d+))?\/?$/;

export function checkOptions(options: Options | null | undefined): void {
  if (options == null) throw 'You must pass an options object';
  if (options.cluster == null && !options.host) throw 'Options object must provide a cluster';
  if (options.host && !HOST.test(options.host)) throw `Wrong host: ${options.host}`;
}

export function configOf(options: Options, owner: ConfigOwner): Config {
  const { cluster, forceTLS, host = '' } = options;
  const [, scheme, name, port] = HOST.exec(host) ?? [];
  const config: Record<string, unknown> = { ...options };
  const otherwise = {
    activityTimeout: 120_000,
    httpHost: name || `sockjs-${cluster}.pusher.com`,
    httpPath: '/pusher',
    httpPort: port || 80,
    httpsPort: port || 443,
    pongTimeout: 30_000,
    unavailableTimeout: 10_000,
    wsHost: name || `ws-${cluster}.pusher.com`,
    wsPath: '',
    wsPort: port || 80,
    wssPort: port || 443,
  };
  // What is empty counts as not given.
  for (const [option, value] of Object.entries(otherwise)) config[option] ||= value;
  return {
    ...config,
    useTLS: owner.runtime.getProtocol() === 'https:' || (forceTLS ?? scheme !== 'http'),
    userAuthenticator: userAuthenticatorOf(options, owner),
    channelAuthorizer: channelAuthorizerOf(options, owner),
  } as unknown as Config;
}

function userAuthenticatorOf(
  { userAuthentication }: Options,
  { runtime }: ConfigOwner,
): UserAuthenticationHandler {
  const own = { endpoint: '/pusher/user-auth', transport: 'ajax', ...userAuthentication };
  return 'customHandler' in own && own.customHandler
    ? own.customHandler
    : authorizerBy(runtime, own as RequestOptions, 'user-authentication');
}

function channelAuthorizerOf(options: Options, owner: ConfigOwner): Config['channelAuthorizer'] {
  const { auth, authEndpoint, authTransport, authorizer, channelAuthorization } = options;
  const own = {
    endpoint: (!channelAuthorization && authEndpoint) || '/pusher/auth',
    transport: (!channelAuthorization && authTransport) || 'ajax',
    ...(channelAuthorization ?? auth),
  };
  if ('customHandler' in own && own.customHandler) return own.customHandler;
  const request = own as RequestOptions;
  if (authorizer && !channelAuthorization) {
    return ({ socketId, channelName }, callback) =>
      authorizer(owner.channel(channelName) as object, {
        authTransport: request.transport,
        authEndpoint: request.endpoint,
        auth: { params: request.params, headers: request.headers },
      }).authorize(socketId, callback);
  }
  return authorizerBy(owner.runtime, request, 'channel-authorization');
}
