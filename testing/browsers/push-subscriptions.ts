import { randomUUID } from 'node:crypto';
import { type WaitingMessage, withMessage } from '../../src/fake-gateways/web/push-message.ts';

/** A browser, by the id that the push service gave it. */
export interface UserAgent {
  readonly uaid: string;
  /** Sends it a message; `undefined` while it is away. */
  send: ((message: object) => void) | undefined;
}

/** One subscription: its endpoint, and the browser that has it. */
export interface Channel {
  readonly token: string;
  readonly channelId: string;
  /** The public key that it is subscribed with, URL-safe base64 without padding. */
  readonly key: string;
  readonly agent: UserAgent;
  /** What was not acknowledged yet, oldest first. */
  waiting: readonly Message[];
  /** Whether it was ended. */
  gone: boolean;
}

/** What was posted to an endpoint. */
export interface Message extends WaitingMessage {
  readonly version: string;
  readonly body: Buffer;
}

function hexId(): string {
  return randomUUID().replaceAll('-', '');
}

/** The state of a push service: its browsers, their subscriptions, and waiting messages. */
export class PushSubscriptions {
  private readonly agents = new Map<string, UserAgent>();
  private readonly channels = new Map<string, Channel>();

  byToken(token: string): Channel | undefined {
    return this.channels.get(token);
  }

  /** Connects a browser, a new one unless its id is known, and sends it its waiting messages. */
  greet(uaid: string | undefined, send: (message: object) => void, nowMs: number): UserAgent {
    const agent = this.agents.get(uaid ?? '') ?? { uaid: hexId(), send };
    agent.send = send;
    this.agents.set(agent.uaid, agent);
    send({
      messageType: 'hello',
      status: 200,
      uaid: agent.uaid,
      use_webpush: true,
      broadcasts: {},
    });
    for (const channel of this.channels.values()) {
      if (channel.agent !== agent) continue;
      channel.waiting = channel.waiting.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
      for (const message of channel.waiting) give(channel, message);
    }
    return agent;
  }

  /** Without `agent`, no browser is connected. */
  subscribe(
    key: string,
    channelId: string,
    agent: UserAgent = { uaid: '', send: undefined },
  ): Channel {
    const channel: Channel = {
      token: hexId() + hexId(),
      channelId,
      key: key.replace(/=+$/, ''),
      agent,
      waiting: [],
      gone: false,
    };
    this.channels.set(channel.token, channel);
    return channel;
  }

  unsubscribe(agent: UserAgent, channelId: string): void {
    for (const channel of this.channels.values()) {
      if (channel.agent === agent && channel.channelId === channelId) channel.gone = true;
    }
  }

  /** Sends a message to its browser, and keeps it until it is acknowledged. */
  deliver(channel: Channel, message: Message, nowMs: number): void {
    give(channel, message);
    if (channel.agent.send === undefined && message.expiresAtMs <= nowMs) return;
    channel.waiting = withMessage(channel.waiting, message);
  }

  acknowledge(version: string): void {
    for (const channel of this.channels.values()) {
      channel.waiting = channel.waiting.filter((message) => message.version !== version);
    }
  }
}

function give({ agent, channelId }: Channel, { version, body }: Message): void {
  const content =
    body.length === 0
      ? {}
      : { data: body.toString('base64url'), headers: { encoding: 'aes128gcm' } };
  agent.send?.({ messageType: 'notification', channelID: channelId, version, ...content });
}
