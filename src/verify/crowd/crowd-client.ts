import {
  type ChannelNews,
  channelNewsOf,
  clientPath,
  type Established,
  errorOf,
  establishedOf,
  ping,
  recordOf,
  type ServerError,
  type ServerMessage,
  type SubscribeFields,
  subscribe,
  unsubscribe,
} from '../../doctor/client/client-messages.ts';
import { askForWebSocket, Conversation, isAccepted } from '../../doctor/client/conversation.ts';
import { type Ending, NO_CLOSE_FRAME } from '../../doctor/client/inbox.ts';
import { type Destination, Link } from '../../doctor/client/link.ts';
import { channelAuth } from '../../doctor/client/signed-request.ts';
import type { Timers } from '../../runtime/ports.ts';
import type { Fields, Op } from '../history/line.ts';
import type { Shared } from './backend.ts';
import { Place } from './place.ts';
import type { Part } from './plan.ts';
import { recorded } from './recorder.ts';
import { Silence } from './silence.ts';

const CLIENT_NAME = 'fanfare-verify';
/** The event of a client, and the event of a backend. */
const CLIENT_EVENT = 'client-verify';

/** Pauses before a client connects again. Milliseconds. */
const RETRY_LEAST_MS = 200;
const RETRY_MOST_MS = 2000;
/** After this time without a message a client asks, unless the server names another. Source: Channels protocol, §1.2. Seconds. */
const ACTIVITY_SECONDS = 120;

/** How long a server may then wait for an answer, if it is not Fanfare with another setting. Milliseconds. */
const PONG_MS = 30_000;

/** What is known of a link that has become silent. */
type Silent = Pick<Fields['close'], 'heard' | 'until'>;

/** Lines about a connection. */
type OfClient = { [O in Op]: Fields[O] extends { readonly c: number } ? O : never }[Op];

/** What clients have in common. */
export interface SharedByClients extends Shared {
  /** After this time without a message a client asks for one, if the server does not demand it earlier. Milliseconds. */
  readonly askAfterMs?: number | undefined;
  readonly timers: Timers;
}

interface CrowdClientOptions extends SharedByClients {
  /** From 1 on. */
  readonly number: number;
  readonly part: Part;
  readonly to: Destination;
  /** Called when the server refuses the client, with its reason. It then gives up. */
  readonly onRefused: (reason: string) => void;
}

/** One client: connects, subscribes, writes down what comes, and connects again. */
export class CrowdClient {
  socket: string | undefined;
  private readonly options: CrowdClientOptions;
  private readonly places: ReadonlyMap<string, Place>;
  /** Channels of this connection that are confirmed. */
  private readonly subscribed = new Set<string>();
  /** Channels that it has left for a while. */
  private readonly left = new Set<string>();
  /** Channels that this connection has left, and not entered again for certain: what comes of them is of before. */
  private readonly stale = new Set<string>();
  private n = 0;
  private conversation: Conversation | undefined;
  private silence: Silence | undefined;
  private error: ServerError | undefined;
  private mayWhisper = true;
  private isOver = false;
  private attempts = 0;

  constructor(options: CrowdClientOptions) {
    this.options = options;
    this.places = new Map(options.part.resumes.map((channel) => [channel, new Place()]));
  }

  get isReady(): boolean {
    return this.subscribed.size === this.options.part.channels.length - this.left.size;
  }

  hears(channel: string): boolean {
    return this.options.part.channels.includes(channel);
  }

  /** Connects, for as long as it takes, and again whenever the connection ends. */
  async connect(): Promise<void> {
    const { to, credentials, timeoutMs } = this.options;
    const { endpoint } = to;
    const opened = await Link.open(to, 'all', timeoutMs);
    if (!opened.ok) return this.retry();
    const { link } = opened;
    const target = clientPath(endpoint.prefix, credentials.key, CLIENT_NAME);
    const { result, expectedAccept } = await askForWebSocket(link, endpoint, target, timeoutMs);
    const isOpen =
      result.kind === 'answer' && result.status === 101 && isAccepted(result, expectedAccept);
    if (!isOpen || this.isOver) {
      link[Symbol.dispose]();
      return this.retry();
    }
    const conversation: Conversation = new Conversation(link, {
      hear: (message) => {
        if (this.conversation === conversation) this.hear(message);
      },
      end: (ending) => {
        link[Symbol.dispose]();
        if (this.conversation === conversation) this.ended(ending);
      },
    });
    this.conversation = conversation;
  }

  /** Cuts its connection, with or without a close frame, and connects again. */
  cut(withCloseFrame: boolean): void {
    const { conversation } = this;
    if (conversation === undefined) return;
    this.disconnected(withCloseFrame ? 1000 : 1006);
    if (withCloseFrame) {
      void conversation.closes(this.options.timeoutMs).then(() => {
        conversation[Symbol.dispose]();
        this.retry();
      });
      return;
    }
    conversation[Symbol.dispose]();
    this.retry();
  }

  /** Leaves a channel, until `enter`. */
  leave(channel: string): void {
    if (!this.subscribed.delete(channel)) return;
    this.left.add(channel);
    this.stale.add(channel);
    this.note('unsubscribe', { ch: channel });
    this.conversation?.send(unsubscribe(channel));
  }

  enter(channel: string): void {
    if (this.left.delete(channel) && this.socket !== undefined) this.ask(channel, this.socket);
  }

  /** Ends its connection for good. */
  stop(): void {
    this.isOver = true;
    this.silence?.[Symbol.dispose]();
    this.conversation?.[Symbol.dispose]();
    this.conversation = undefined;
    this.socket = undefined;
  }

  /** Sends a client event, if it may. */
  whisper(e: string): void {
    const channel = this.options.part.whispers;
    if (channel === undefined || !this.mayWhisper || !this.subscribed.has(channel)) return;
    this.note('whisper', { ch: channel, e });
    const message = { event: CLIENT_EVENT, channel, data: JSON.stringify({ e }) };
    this.conversation?.send(JSON.stringify(message));
  }

  /** Writes down a line about this connection. */
  private note<O extends OfClient>(op: O, fields: Omit<Fields[O], 'c' | 'n'>): void {
    const { number: c, recorder } = this.options;
    recorder.add(op, { c, n: this.n, ...fields } as Fields[O]);
  }

  private hear(message: ServerMessage): void {
    this.silence?.heard();
    const established = establishedOf(message);
    if (established !== undefined) return this.established(established);
    const error = errorOf(message);
    if (error !== undefined) return this.refused(message, error);
    const { channel, data, id } = message;
    if (channel === undefined || this.socket === undefined) return;
    const news = channelNewsOf(message);
    if (this.stale.has(channel) && news?.kind !== 'subscribed') return;
    if (news !== undefined) return this.heardOf(channel, news, this.socket);
    // Such as the message that a cache channel is empty.
    if (message.event.startsWith('pusher')) return;
    const name = recordOf(data)?.['e'];
    const e = recorded(typeof name === 'string' ? name : `another event: ${message.event}`);
    this.note('event', { ch: recorded(channel), e, id: id && recorded(id) });
    if (id !== undefined) this.places.get(channel)?.received(id, this.socket);
  }

  private established({
    socketId: socket,
    activityTimeoutSeconds = ACTIVITY_SECONDS,
  }: Established): void {
    const { part, recorder, timers, timeoutMs, askAfterMs = Infinity } = this.options;
    const activityMs = activityTimeoutSeconds * 1000;
    this.silence = new Silence({
      timers,
      activityMs: Math.min(activityMs, askAfterMs),
      pongMs: timeoutMs,
      ping: () => this.conversation?.send(ping),
      onSilent: (silentMs) => {
        this.conversation?.[Symbol.dispose]();
        const heard = Math.max(0, recorder.now - silentMs);
        this.ended(NO_CLOSE_FRAME, { heard, until: heard + activityMs + PONG_MS });
      },
    });
    this.socket = socket;
    this.n++;
    this.attempts = 0;
    this.error = undefined;
    this.note('open', { socket: recorded(socket) });
    for (const place of this.places.values()) place.connected(socket);
    for (const channel of part.channels) if (!this.left.has(channel)) this.ask(channel, socket);
  }

  /** Asks for a subscription. */
  private ask(channel: string, socket: string): void {
    const { part, credentials } = this.options;
    const isPresence = channel.startsWith('presence-');
    const data = isPresence ? JSON.stringify({ user_id: part.user }) : undefined;
    const place = this.places.get(channel);
    const user = isPresence ? part.user : undefined;
    this.note('subscribe', { ch: channel, user, after: place?.id });
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
    this.conversation?.send(subscribe(channel, auth, fields));
  }

  private heardOf(channel: string, news: ChannelNews, socket: string): void {
    const ch = recorded(channel);
    switch (news.kind) {
      case 'subscribed': {
        const { members, resume } = news;
        this.note('subscribed', {
          ch,
          members: members?.map(recorded),
          resume: resume && { ...resume, id: recorded(resume.id) },
        });
        this.stale.delete(channel);
        this.subscribed.add(channel);
        this.places.get(channel)?.confirmed(resume, socket);
        return;
      }
      case 'joined':
      case 'left':
        return this.note(news.kind, { ch, user: recorded(news.user) });
      case 'counted':
        return this.note('counted', { ch, count: Math.max(0, Math.trunc(news.count) || 0) });
      default:
        return news satisfies never;
    }
  }

  /** The server refuses a message, a subscription or the whole connection. */
  private refused({ event, channel }: ServerMessage, error: ServerError): void {
    const code = error.code === null ? '' : ` (${error.code})`;
    if (event.endsWith('subscription_error')) {
      this.options.onRefused(`the subscription to ${channel} is refused: ${error.message}${code}`);
      return;
    }
    // An app without client events, or with a rate for them.
    if (error.code === null || error.code >= 4300) this.mayWhisper = false;
    else this.error = error;
  }

  private ended({ code }: Ending, silence: Silent = {}): void {
    if (this.isOver) return;
    const { error } = this;
    this.disconnected(code, silence);
    this.options.recorder.connectionLost(code);
    if (error?.code !== undefined && error.code !== null && error.code < 4100) {
      this.isOver = true;
      this.options.onRefused(`a connection is refused: ${error.message} (${error.code})`);
      return;
    }
    this.retry(code >= 4200 && code < 4300);
  }

  /** Writes down that the connection is over. */
  private disconnected(code: number, silence: Silent = {}): void {
    if (this.socket !== undefined) this.note('close', { code, ...silence });
    this.silence?.[Symbol.dispose]();
    this.silence = undefined;
    this.conversation = undefined;
    this.socket = undefined;
    this.subscribed.clear();
    this.stale.clear();
  }

  private retry(atOnce = false): void {
    if (this.isOver) return;
    const pauseMs = Math.min(RETRY_MOST_MS, RETRY_LEAST_MS * 2 ** this.attempts++);
    const ms = atOnce ? 0 : pauseMs * (0.5 + Math.random() / 2);
    this.options.timers.after(ms, () => {
      if (!this.isOver) void this.connect();
    });
  }
}
