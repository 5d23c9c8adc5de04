import type { Fanfare } from '../servers/fanfare.ts';
import { RawHttp } from './raw-http.ts';

/** The address of the proxy that checks users. It is one of this machine. */
export const USER_PROXY = '127.0.0.2';

/** The settings by which a server trusts that proxy. */
export const TRUSTED_USER_PROXY = {
  trust: [USER_PROXY],
  userHeader: 'Remote-User',
  groupsHeader: 'Remote-Groups',
};

export interface UserRequest {
  readonly user?: string;
  readonly body?: object;
  readonly from?: string;
}

export interface UserAnswer {
  readonly status: number;
  readonly text: string;
  /** `undefined` if the answer is no JSON. */
  readonly json: unknown;
}

/** Asks the admin listener as a user of these groups, through the proxy. Paths are as for `admin`. */
export async function askAs(
  server: Pick<Fanfare, 'adminPort'>,
  groups: string,
  [method, path]: readonly [method: string, path: string],
  { user = 'alice', body, from = USER_PROXY }: UserRequest = {},
): Promise<UserAnswer> {
  await using http = await RawHttp.open({ port: server.adminPort }, { from });
  const answer = await http.request({
    method,
    target: path.startsWith('//') ? path.slice(1) : `/api/v1${path}`,
    headers: {
      'remote-user': user,
      'remote-groups': groups,
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const isJson = answer.headers.get('content-type') === 'application/json';
  return {
    status: answer.status,
    text: answer.body,
    json: isJson ? JSON.parse(answer.body) : undefined,
  };
}
