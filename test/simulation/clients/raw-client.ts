import {
  type ChannelNews,
  channelNewsOf,
  clientPath,
  establishedOf,
  isPing,
  isPong,
  ping,
  pong,
  readServerMessage,
  recordOf,
  type ServerMessage,
  type SubscribeFields,
  subscribe,
  unsubscribe,
} from '../../../src/doctor/client/client-messages.ts';
import { channelAuth } from '../../../src/doctor/client/signed-request.ts';
import { Place } from '../../../src/verify/crowd/place.ts';
import { ClientSocket } from '../network/client-socket.ts';
import { CLIENT_EVENT, type ClientWorld, type CrowdMember, type Part } from './crowd-member.ts';

/** A pause before it connects again. Milliseconds. */
const RETRY_LEAST_MS = 100;
const RETRY_MOST_MS = 2_000;
/** How long it waits to be greeted. Milliseconds. */
const GREETED_MS = 5_000;
/** If nothing comes for so long it asks, and then waits for an answer. Milliseconds. */
const QUIET_MS = 12_000;
const PONG_MS = 4_000;

/** A client of few lines, which notes each frame as it comes. */
export class RawClient implements CrowdMember {
  readonly part: Part;
  socket: string | undefined;
  private readonly world: ClientWorld;
  private readonly places = new Map<string, Place>();
  /** Channels of this connection that are confirmed. */
  private readonly subscribed = new Set<string>();
  /** Channels that it has left for a while. */
  private readonly left = new Set<string>();
  /** Channels that this connection has left, and not entered again for certain: what comes of them is of before. */
  private readonly stale = new Set<string>();
  private n = 0;
  private connection: ClientSocket | undefined;
  private isOver = false;
  private heardAtMs = 0;

  constructor(part: Part, world: ClientWorld) {
    this.part = part;
    this.world = world;
    for (const channel of part.channels) this.begin(channel);
  }

  get isReady(): boolean {
    return this.subscribed.size === this.part.channels.length - this.left.size;
  }

  connect(): void {
    if (this.isOver) return;
    const { host, credentials } = this.world;
    const connection = new ClientSocket(
      `ws://${host}${clientPath('', credentials.key, 'simulated')}`,
    );
    this.connection = connection;
    const isCurrent = () => this.connection === connection;
    connection.onmessage = ({ data }) => {
      if (isCurrent()) this.heard(data);
    };
    connection.onclose = ({ code }) => {
      if (isCurrent()) this.disconnected(code);
    };
    setTimeout(() => {
      if (isCurrent() && this.socket === undefined) connection.terminate();
    }, GREETED_MS);
  }

  stop(): void {
    this.isOver = true;
    this.connection?.close();
  }

  leave(channel: string): void {
    if (!this.subscribed.delete(channel)) return;
    this.left.add(channel);
    this.stale.add(channel);
    this.world.recorder.add('unsubscribe', { c: this.part.number, n: this.n, ch: channel });
    this.connection?.send(unsubscribe(channel));
  }

  enter(channel: string): void {
    if (!this.left.delete(channel)) return;
    this.begin(channel);
    if (this.socket === undefined) return;
    this.places.get(channel)?.connected(this.socket);
    this.ask(channel, this.socket);
  }

  whisper(e: string): void {
    const { whispers: channel, number } = this.part;
    if (channel === undefined || !this.subscribed.has(channel)) return;
    this.world.recorder.add('whisper', { c: number, n: this.n, ch: channel, e });
    const message = { event: CLIENT_EVENT, channel, data: JSON.stringify({ e }) };
    this.connection?.send(JSON.stringify(message));
  }

  cut(): void {
    this.connection?.cut();
  }

  reopen(): void {
    const { connection } = this;
    this.disconnected(1000);
    connection?.close();
  }

  silence(): void {
    this.connection?.silence();
  }

  slowDown(bytesPerMs: number): void {
    this.connection?.slowDown(bytesPerMs);
  }

  /** It has nothing of a channel. */
  private begin(channel: string): void {
    if (this.part.resumes) this.places.set(channel, new Place());
  }

  private heard(text: string): void {
    this.heardAtMs = performance.now();
    const message = readServerMessage(text);
    if (message === undefined) throw new Error(`Client ${this.part.number} cannot read ${text}`);
    const established = establishedOf(message);
    if (established !== undefined) return this.established(established.socketId);
    if (isPing(message)) return this.connection?.send(pong);
    const { channel } = message;
    if (channel === undefined || this.socket === undefined || isPong(message)) return;
    const news = channelNewsOf(message);
    if (this.stale.has(channel) && news?.kind !== 'subscribed') return;
    if (news !== undefined) this.heardOf(channel, news, this.socket);
    else if (!message.event.startsWith('pusher')) this.received(channel, message, this.socket);
  }

  private established(socket: string): void {
    const { number, channels } = this.part;
    this.socket = socket;
    this.n++;
    this.world.recorder.add('open', { c: number, n: this.n, socket });
    for (const place of this.places.values()) place.connected(socket);
    for (const channel of channels) if (!this.left.has(channel)) this.ask(channel, socket);
    this.watch(this.connection);
  }

  /** Ends a connection on which nothing comes. */
  private watch(connection: ClientSocket | undefined): void {
    const look = () => {
      if (this.connection !== connection || this.isOver) return;
      const quietMs = performance.now() - this.heardAtMs;
      if (quietMs < QUIET_MS) {
        setTimeout(look, QUIET_MS - quietMs);
        return;
      }
      connection?.send(ping);
      const askedAtMs = performance.now();
      setTimeout(() => {
        if (this.connection !== connection) return;
        if (this.heardAtMs > askedAtMs) look();
        else connection?.terminate();
      }, PONG_MS);
    };
    look();
  }

  private ask(channel: string, socket: string): void {
    const { number, user } = this.part;
    const { recorder, credentials } = this.world;
    const isPresence = channel.startsWith('presence-');
    const data = isPresence ? JSON.stringify({ user_id: user }) : undefined;
    const place = this.places.get(channel);
    recorder.add('subscribe', {
      c: number,
      n: this.n,
      ch: channel,
      ...(isPresence ? { user } : {}),
      ...(place === undefined ? {} : { after: place.id }),
    });
    const signed = data === undefined ? channel : `${channel}:${data}`;
    const auth =
      isPresence || channel.startsWith('private-')
        ? channelAuth(credentials.key, credentials.secret, socket, signed)
        : undefined;
    const fields: SubscribeFields = {
      ...(data === undefined ? {} : { channel_data: data }),
      ...(place === undefined
        ? {}
        : { resume_after_id: place.id, resume_socket_ids: place.sockets }),
    };
    this.connection?.send(subscribe(channel, auth, fields));
  }

  private received(channel: string, { data, id }: ServerMessage, socket: string): void {
    const e = String(recordOf(data)?.['e']);
    const given = id === undefined ? {} : { id };
    this.world.recorder.add('event', {
      c: this.part.number,
      n: this.n,
      ch: channel,
      e,
      ...given,
    });
    if (id !== undefined) this.places.get(channel)?.received(id, socket);
  }

  private heardOf(channel: string, news: ChannelNews, socket: string): void {
    const { recorder } = this.world;
    const at = { c: this.part.number, n: this.n, ch: channel };
    switch (news.kind) {
      case 'subscribed': {
        const { members, resume } = news;
        recorder.add('subscribed', {
          ...at,
          ...(members === undefined ? {} : { members }),
          ...(resume === undefined ? {} : { resume }),
        });
        this.subscribed.add(channel);
        this.stale.delete(channel);
        this.places.get(channel)?.confirmed(resume, socket);
        return;
      }
      case 'joined':
      case 'left':
        return recorder.add(news.kind, { ...at, user: news.user });
      case 'counted':
        return recorder.add('counted', { ...at, count: news.count });
      default:
        return news satisfies never;
    }
  }

  private disconnected(code: number): void {
    if (this.socket !== undefined) {
      this.world.recorder.add('close', { c: this.part.number, n: this.n, code });
    }
    this.socket = undefined;
    this.connection = undefined;
    this.subscribed.clear();
    this.stale.clear();
    const isAtOnce = code >= 4200 && code < 4300;
    const pauseMs = RETRY_LEAST_MS + Math.random() * (RETRY_MOST_MS - RETRY_LEAST_MS);
    setTimeout(() => this.connect(), isAtOnce ? RETRY_LEAST_MS : pauseMs);
  }
}
