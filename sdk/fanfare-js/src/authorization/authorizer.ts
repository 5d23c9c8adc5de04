import type { RequestOptions } from '../options.ts';

/** What a backend is asked about, as error texts name it. */
export type AuthType = 'channel-authorization' | 'user-authentication';

/** Takes the answer of a backend, or why there is none. */
export type AnswerCallback = (error: Error | null, data: never) => void;

/** What requests need of the runtime. */
export interface AuthorizationRuntime {
  getAuthorizers(): Readonly<Record<string, Authorizer>>;
  /** Whether cookies go to other sites, too. */
  credentials(): 'include' | 'same-origin';
}

/** Asks a backend once. */
export type Authorizer = (
  runtime: AuthorizationRuntime,
  request: { readonly query: string; readonly options: RequestOptions; readonly type: AuthType },
  callback: AnswerCallback,
) => void;

/** Makes a handler that asks the backend of the options. */
export function authorizerBy(
  runtime: AuthorizationRuntime,
  options: RequestOptions,
  type: AuthType,
) {
  const authorizer = runtime.getAuthorizers()[options.transport];
  if (!authorizer) throw `'${options.transport}' is not a recognized auth transport`;
  return (
    { socketId, channelName }: { readonly socketId: string; readonly channelName?: string },
    callback: AnswerCallback,
  ): void => {
    const own = { socket_id: socketId, ...(channelName && { channel_name: channelName }) };
    const query = [own, options.params, options.paramsProvider?.()]
      .flatMap((fields) => Object.entries(fields ?? {}))
      .map((pair) => pair.map(encodeURIComponent).join('='))
      .join('&');
    authorizer(runtime, { query, options, type }, callback);
  };
}
