import {
  type ChannelInbox,
  connect,
  type OfficialClient,
  type UserInbox,
} from '../../testing/clients/official-client.ts';
import { PushRequests } from '../../testing/clients/push-requests.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { RawHttp, type RawRequest } from '../../testing/clients/raw-http.ts';
import type { Inbox } from '../../testing/inbox.ts';
import type { WebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';

/** What a program asks for. Values that are not texts, such as what a library has signed, are JSON. */
export type Given = Readonly<Record<string, string>>;

export interface World {
  readonly port: number;
  readonly pushPort: number;
  readonly appKey: string;
  readonly webhooks: WebhookEndpoint;
  /** The notifications that arrived for a device. */
  readonly arrivedAt: (token: string) => Inbox<unknown>;
}

/** A client that a program watches. */
interface Watched extends OfficialClient {
  /** What a library has signed for this client, by channel; for the sign-in by an empty name. */
  readonly signed: Map<string, string>;
  readonly channels: Map<string, ChannelInbox>;
  user: UserInbox | undefined;
}

/**
 * What a program in another language cannot see or do by the library that it checks: clients of `pusher-js` that receive what it
 * triggers, webhooks that were really sent, devices, and what arrives at gateways.
 */
export class Asks implements Disposable {
  private readonly world: World;
  private readonly clients = new Map<string, Watched>();
  private readonly push = new PushRequests();

  constructor(world: World) {
    this.world = world;
  }

  /** Answers one question. */
  async answer(question: string, given: Given): Promise<unknown> {
    const answer = this.answers[question];
    if (answer === undefined) throw new Error(`There is no question ${question}`);
    return await answer(given);
  }

  [Symbol.dispose](): void {
    for (const client of this.clients.values()) client[Symbol.dispose]();
  }

  private readonly answers: Readonly<Record<string, (given: Given) => Promise<unknown>>> = {
    /** Connects `pusher-js`. */
    connect: async () => {
      const signed = new Map<string, string>();
      const client = connect(this.world, {
        key: this.world.appKey,
        channelAuthorization: {
          endpoint: '',
          transport: 'ajax',
          customHandler: ({ channelName }, done) =>
            done(null, JSON.parse(signed.get(channelName) ?? '')),
        },
        userAuthentication: {
          endpoint: '',
          transport: 'ajax',
          customHandler: (_, done) => done(null, JSON.parse(signed.get('') ?? '')),
        },
      });
      const socketId = await client.connected();
      const watched = { ...client, signed, channels: new Map(), user: undefined };
      this.clients.set(socketId, watched);
      return { socketId };
    },

    /** Subscribes, with what the library of the program has signed if the channel needs that. */
    subscribe: async ({ socketId, channel = '', auth }) => {
      const client = this.client(socketId);
      if (auth !== undefined) client.signed.set(channel, auth);
      const inbox = client.subscribe(channel);
      client.channels.set(channel, inbox);
      return { data: (await inbox.subscribed()) ?? null };
    },

    /** The next event of a channel. */
    event: async ({ socketId, channel = '' }) => {
      const inbox = this.client(socketId).channels.get(channel);
      if (inbox === undefined) throw new Error(`It is not subscribed to ${channel}`);
      const [event, data] = await inbox.next();
      return { event, data };
    },

    clientEvent: async ({ socketId, channel = '', event = '', data = '' }) => {
      const inbox = this.client(socketId).channels.get(channel);
      return { sent: inbox?.channel.trigger(event, JSON.parse(data)) };
    },

    signIn: async ({ socketId, auth = '' }) => {
      const client = this.client(socketId);
      client.signed.set('', auth);
      client.user = await client.signedIn();
      return {};
    },

    /** The next event for the user of a client. */
    userEvent: async ({ socketId }) => {
      const [event, data] = (await this.client(socketId).user?.next()) ?? [];
      return { event, data };
    },

    /** Waits until the server ends the connection, and answers with the code. */
    ended: async ({ socketId }) => {
      const { connection } = this.client(socketId);
      const [, error] = await connection.first(([event]) => event === 'error');
      return (error as { readonly data: object }).data;
    },

    disconnect: async ({ socketId }) => {
      this.client(socketId)[Symbol.dispose]();
      return {};
    },

    /** Connects a client that answers no ping, and waits until it was closed for that. */
    silence: async () => {
      const path = pathOf(undefined, this.world.appKey);
      await using client = await RawClient.connect(this.world, { path, transport: 'ws' });
      return await client.closed;
    },

    /** The next webhook that has such an event. */
    webhook: async ({ event, channel }) => {
      const request = await this.world.webhooks.requests.first(({ events }) =>
        events.some((one) => one.name === event && one.channel === channel),
      );
      return { headers: request.headers, body: request.body };
    },

    /** Registers an Android device with interests. */
    device: async ({ interests = '[]' }) => {
      const token = `token:${crypto.randomUUID()}`;
      const { id } = JSON.parse(await this.ask(this.push.registerFcm(token)));
      await this.ask(this.push.setInterests(id, JSON.parse(interests)));
      return { id, token };
    },

    /** Signs the user of a device in with a token that a library has made, and answers who the user is. */
    setUser: async ({ id = '', beamsToken }) => {
      const { target } = this.push.readDevice(id);
      const headers = { authorization: `Bearer ${beamsToken}` };
      await this.ask({ method: 'PUT', target: `${target}/user`, headers });
      const { userId } = JSON.parse(await this.ask(this.push.readDevice(id)));
      return { userId };
    },

    /** Whether a device is still registered. */
    registered: async ({ id = '' }) => {
      const { status } = await this.send(this.push.readDevice(id));
      return { registered: status === 200 };
    },

    /** The next notification that arrives for a device. */
    notification: async ({ token = '' }) => await this.world.arrivedAt(token).next(),
  };

  private client(socketId: string | undefined): Watched {
    const client = this.clients.get(socketId ?? '');
    if (client === undefined) throw new Error(`There is no client ${socketId}`);
    return client;
  }

  private async send(request: RawRequest) {
    await using http = await RawHttp.open({ port: this.world.pushPort }, { tls: true });
    return await http.request(request);
  }

  private async ask(request: RawRequest): Promise<string> {
    const { status, body } = await this.send(request);
    if (status !== 200) throw new Error(`${request.method} ${request.target}: ${status} ${body}`);
    return body;
  }
}
