import type { ServerWebSocket } from 'bun';
import { Inbox } from '../inbox.ts';
import type { PushSubscriptions, UserAgent } from './push-subscriptions.ts';

export interface Acknowledgement {
  readonly type: 'ack' | 'nack';
  /** The message, as the `Location` of its answer ends. */
  readonly version: string;
  /** 100: given to the worker; 101: could not be decrypted; 102: not given to it; 301 to 303: the worker failed. */
  readonly code: number;
}

interface SocketData {
  /** Once it has said hello. */
  agent: UserAgent | undefined;
  /** What its agent sends with. */
  send: ((message: object) => void) | undefined;
}

type Socket = ServerWebSocket<SocketData>;

/** A message of a browser; the fields depend on the type. */
interface FromBrowser {
  readonly messageType?: string;
  readonly uaid?: string;
  readonly channelID?: string;
  readonly key?: string;
  readonly updates?: readonly { readonly version: string; readonly code: number }[];
  readonly version?: string;
  readonly code?: number;
}

const SUBPROTOCOL = 'push-notification';

/** The side of the push service that browsers connect to, by WebSocket. Source: push protocol, 9.2. */
export class AutopushBrowsers {
  readonly acknowledged = new Inbox<Acknowledgement>('The push service');
  /** The ids of browsers that have said hello, once for each time. */
  readonly hellos = new Inbox<string>('The push service');
  /** The statuses with which the next registrations are refused. */
  readonly refusals: number[] = [];
  private readonly subscriptions: PushSubscriptions;
  private readonly endpointOf: (token: string) => string;
  private readonly connected = new Set<Socket>();
  private readonly server: Bun.Server<SocketData>;

  constructor(subscriptions: PushSubscriptions, endpointOf: (token: string) => string) {
    this.subscriptions = subscriptions;
    this.endpointOf = endpointOf;
    this.server = Bun.serve<SocketData, string>({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request, server) {
        const upgraded = server.upgrade(request, {
          headers: { 'sec-websocket-protocol': SUBPROTOCOL },
          data: { agent: undefined, send: undefined },
        });
        return upgraded ? undefined : new Response('A WebSocket is needed', { status: 426 });
      },
      websocket: {
        idleTimeout: 0,
        message: (socket, text) => this.handle(socket, JSON.parse(String(text))),
        open: (socket) => void this.connected.add(socket),
        close: (socket) => this.closed(socket),
      },
    });
  }

  get url(): string {
    return `ws://localhost:${this.server.port}/`;
  }

  disconnect(): void {
    for (const socket of this.connected) socket.close(1001);
  }

  stop(): Promise<void> {
    return this.server.stop(true);
  }

  private closed(socket: Socket): void {
    this.connected.delete(socket);
    const { agent, send } = socket.data;
    // It may be back already, by another connection.
    if (agent !== undefined && agent.send === send) agent.send = undefined;
  }

  private handle(socket: Socket, message: FromBrowser): void {
    const answer = (fields: object) => void socket.send(JSON.stringify(fields));
    const { messageType, channelID = '' } = message;
    if (messageType === undefined) return answer({}); // A ping.
    if (messageType === 'hello') {
      const agent = this.subscriptions.greet(message.uaid, answer, Date.now());
      Object.assign(socket.data, { agent, send: answer });
      return this.hellos.put(agent.uaid);
    }
    const { agent } = socket.data;
    if (agent === undefined) return socket.close(1002, 'Say hello first');
    switch (messageType) {
      case 'ping':
        return answer({ messageType });
      case 'register':
        return answer({ messageType, channelID, ...this.register(agent, message) });
      case 'unregister':
        this.subscriptions.unsubscribe(agent, channelID);
        return answer({ messageType, channelID, status: 200 });
      case 'ack':
        for (const { version, code } of message.updates ?? []) this.done('ack', version, code);
        return;
      case 'nack':
        return this.done('nack', message.version, message.code);
      default:
        // Nothing is ever broadcast, so subscribing to broadcasts needs no answer.
        return;
    }
  }

  private register(agent: UserAgent, { key = '', channelID = '' }: FromBrowser): object {
    const refused = this.refusals.shift();
    if (refused !== undefined) return { status: refused };
    const { token } = this.subscriptions.subscribe(key, channelID, agent);
    return { status: 200, pushEndpoint: this.endpointOf(token) };
  }

  private done(type: Acknowledgement['type'], version = '', code = 0): void {
    this.subscriptions.acknowledge(version);
    this.acknowledged.put({ type, version, code });
  }
}
