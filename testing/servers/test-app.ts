import { type AdminServer, type MadeApp, makeApp } from '../clients/admin-api.ts';
import { pathOf, RawClient, type RawClientOptions } from '../clients/raw-client.ts';
import { type ApiCall, api, channelAuth, hmac } from '../clients/sign.ts';
import { APP, type Fanfare } from './fanfare.ts';

/** A client that is connected to an app. */
export type AppClient = RawClient & { readonly socketId: string };

/** An app of a server, as its clients and its backend use it. */
export class TestApp {
  readonly port: number;
  readonly id: string;
  readonly key: string;
  readonly secret: string;

  constructor({ port }: Pick<Fanfare, 'port'>, { id, key, secret }: MadeApp) {
    this.port = port;
    this.id = id;
    this.key = key;
    this.secret = secret;
  }

  /** Opens a connection and reads its first message. */
  connect({ protocol, ...options }: RawClientOptions = {}): Promise<AppClient> {
    return RawClient.connect(this, { path: pathOf(protocol, this.key), ...options });
  }

  /** What the backend of the app answers for a private or presence channel. */
  auth(client: AppClient, channel: string, channelData?: string) {
    return channelAuth(client.socketId, channel, channelData, this);
  }

  /** What the backend of the app answers for a sign-in. */
  signIn(client: AppClient, user: object) {
    const userData = JSON.stringify(user);
    const auth = `${this.key}:${hmac(`${client.socketId}::user::${userData}`, this.secret)}`;
    return { event: 'pusher:signin', data: { auth, user_data: userData } };
  }

  /** Sends a signed request to a path below that of the app. */
  api(method: 'GET' | 'POST', path: string, call: ApiCall = {}): Promise<Response> {
    const { key, secret } = this;
    return api(this, method, `/apps/${this.id}${path}`, { key, secret, ...call });
  }

  /** Sends a value as JSON to a path below that of the app. */
  post(path: string, body: object): Promise<Response> {
    return this.api('POST', path, { body: JSON.stringify(body) });
  }

  /** Triggers one event and fails unless it was accepted. */
  async trigger(event: object): Promise<void> {
    const response = await this.post('/events', event);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  }
}

/** Where a test finds its app: a server stands for the app of its configuration. */
export type AppLocation = Pick<Fanfare, 'port'> | TestApp;

export function appAt(location: AppLocation): TestApp {
  return location instanceof TestApp ? location : new TestApp(location, APP);
}

/** Creates an app that a test has for itself, with random id, key and secret. The server serves it when this settles. */
export async function newApp(
  server: AdminServer & Pick<Fanfare, 'port'>,
  settings: object = {},
): Promise<TestApp> {
  return new TestApp(server, await makeApp(server, settings));
}
