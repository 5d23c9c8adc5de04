import { expect } from 'bun:test';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import { type Fanfare, type FanfareOptions, startFanfare } from '../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';

const requests = new PushRequests();

/** A server whose instance may publish as often as tests like. */
export function startPush(options: FanfareOptions = {}): Promise<Fanfare> {
  const settings = { ...instanceSettings(), limits: { publishesPerSecond: 0 } };
  return startFanfare({ ...options, config: { push: pushSettings(settings) } });
}

/** The device as the API shows it; `undefined` if it does not exist. */
export async function deviceOf(server: Fanfare, id: string): Promise<unknown> {
  const { status, json } = await requestPush(server, requests.readDevice(id));
  if (status === 200) return json;
  expect([status, json['error']]).toEqual([404, 'Device not found']);
  return undefined;
}

/** One page of a device's interests, and the cursor of the next. */
export async function pageOf(server: Fanfare, id: string, query = '') {
  const request = requests.readInterests(id);
  const { status, json } = await requestPush(server, {
    ...request,
    target: request.target + query,
  });
  expect(status).toBe(200);
  return json as {
    interests: readonly string[];
    responseMetadata: { readonly nextCursor?: string };
  };
}

export async function interestsOf(server: Fanfare, id: string): Promise<readonly string[]> {
  const { interests, responseMetadata } = await pageOf(server, id);
  expect(responseMetadata).toEqual({});
  return interests;
}
