import type { ReceivedEvent } from '../../../testing/clients/raw-client.ts';
import type { AppClient, TestApp } from '../../../testing/servers/test-app.ts';

/** Opens eight connections. The kernel spreads them over the threads. */
export async function eightClients(app: TestApp): Promise<readonly AppClient[]> {
  return await Promise.all(Array.from({ length: 8 }, () => app.connect()));
}

/** Subscribes a client to a presence channel as a user. Returns the ids of the members, in their order. */
export async function entersAs(
  app: TestApp,
  client: AppClient,
  channel: string,
  userId: string,
): Promise<readonly string[]> {
  const channelData = JSON.stringify({ user_id: userId });
  const { data } = await client.subscribe(channel, app.auth(client, channel, channelData));
  return JSON.parse(String(data)).presence.ids;
}

/** Signs a client in, and skips the confirmation. */
export async function signsIn(app: TestApp, client: AppClient, user: object): Promise<void> {
  client.send(app.signIn(client, user));
  const { event } = await client.receive();
  if (event !== 'pusher:signin_success') throw new Error(`Received ${event}`);
}

/** The data of an event of the protocol, which is JSON in text. */
export function dataOf({ data }: ReceivedEvent): unknown {
  return JSON.parse(String(data));
}

export async function close(clients: readonly AppClient[]): Promise<void> {
  for (const client of clients) await client[Symbol.asyncDispose]();
}
