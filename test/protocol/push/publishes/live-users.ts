import { PushRequests } from '../../../../testing/clients/push-requests.ts';
import { clientFrame, pathOf, RawClient, WS_PING } from '../../../../testing/clients/raw-client.ts';
import { RawHttp } from '../../../../testing/clients/raw-http.ts';
import { hmac } from '../../../../testing/clients/sign.ts';
import { eventually } from '../../../../testing/eventually.ts';
import { APP, type Fanfare } from '../../../../testing/servers/fanfare.ts';
import { ask, BACKEND, INSTANCE, published, publishes } from '../exchange.ts';

/** A client that has no pings of JavaScript, such as an app. */
export const NATIVE = pathOf(7).replace('client=js', 'client=swift');

export type LiveClient = RawClient & { socketId: string };

/** What a backend signs for a user. */
function signIn(socketId: string, userData: object): object {
  const user_data = JSON.stringify(userData);
  const auth = `${APP.key}:${hmac(`${socketId}::user::${user_data}`)}`;
  return { event: 'pusher:signin', data: { auth, user_data } };
}

/** Connects a user who receives the events for that user. */
export async function userConnects(
  server: Pick<Fanfare, 'port'>,
  user: string,
  { path = NATIVE, ...data }: { readonly path?: string; readonly live?: boolean } = {},
): Promise<LiveClient> {
  const client = await RawClient.connect(server, { path });
  client.send(signIn(client.socketId, { id: user, ...data }));
  const { event } = await client.receive();
  if (event !== 'pusher:signin_success') throw new Error(`Not signed in: ${event}`);
  await client.subscribe(`#server-to-user-${user}`);
  return client;
}

/** Receives the event of a publish and the ping behind it. Returns the payload of the ping. */
export async function hearsAsk(client: RawClient): Promise<string> {
  await client.receive();
  const ping = await client.receive();
  if (ping.event !== WS_PING) throw new Error(`Received ${ping.event}`);
  return String(ping.data);
}

/** Answers the ping behind the event of a publish. */
export async function answers(client: RawClient): Promise<void> {
  const payload = await hearsAsk(client);
  client.writeBytes(clientFrame(10, payload));
}

const requests = new PushRequests(INSTANCE);

/** Registers an Android device of a user. */
export async function registers(server: Pick<Fanfare, 'pushPort'>, user: string): Promise<string> {
  await using connection = await RawHttp.open({ port: server.pushPort });
  const registered = requests.registerFcm(`${user}-${crypto.randomUUID()}`);
  const { id } = JSON.parse((await connection.request(registered)).body);
  await connection.request(requests.setUser(id, user));
  return id;
}

export const EVENT = { event: 'new-message', data: { room: 7 } } as const;

export function publishesLive(
  server: Parameters<typeof published>[0],
  users: readonly string[],
  { live, ...others }: { readonly live?: object; readonly [field: string]: unknown } = {},
): Promise<string> {
  const fcm = { notification: { title: 'New message' } };
  return published(server, { users, live: { ...EVENT, ...live }, fcm, ...others });
}

interface Status {
  readonly state: string;
  readonly live: object;
  readonly platforms: { readonly fcm: { readonly planned: number } };
}

export async function statusOf(
  server: Parameters<typeof published>[0],
  id: string,
): Promise<Status> {
  const { json } = await ask(server, 'GET', publishes(`/${id}`), { headers: BACKEND });
  return json as Status;
}

/** The status of a publish once it is planned. */
export function planned(server: Parameters<typeof published>[0], id: string): Promise<Status> {
  return eventually(
    () => statusOf(server, id),
    ({ state }) => state === 'delivering' || state === 'finished',
  );
}
