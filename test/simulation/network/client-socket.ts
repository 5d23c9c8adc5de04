import type { Link } from './link.ts';
import { networkInUse } from './network.ts';
import type { ClientSide, ServerSide } from './sides.ts';

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

export interface CloseEventLike {
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
}

/** A WebSocket of a client, with what browsers and `pusher-js` use of it. */
export class ClientSocket implements ClientSide {
  onopen: (() => void) | undefined;
  onmessage: ((event: { readonly data: string }) => void) | undefined;
  onclose: ((event: CloseEventLike) => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  readyState = CONNECTING;
  private link: Link | undefined;
  private server: ServerSide | undefined;

  constructor(url: string) {
    const { host, pathname, search } = new URL(url);
    networkInUse().connect(
      host,
      (link, server) => this.connected(link, server, pathname + search),
      () => this.over(1006, ''),
    );
  }

  send(text: string): void {
    const { link, server } = this;
    if (this.readyState !== OPEN || link === undefined || server === undefined) return;
    link.up.send(text.length, () => {
      if (!link.server.isOver) server.receivedFrame(text);
    });
  }

  /** Closes it as browsers do: `onclose` comes with the answer of the server. */
  close(code = 1000, reason = ''): void {
    const { link, server } = this;
    if (this.readyState >= CLOSING) return;
    if (this.readyState === CONNECTING || link === undefined || server === undefined) {
      this.terminate();
      return;
    }
    this.readyState = CLOSING;
    link.up.send(reason.length, () => {
      if (!link.server.isOver) server.receivedClose(code, reason);
    });
  }

  /** Breaks it, without a word to the server. */
  terminate(): void {
    if (this.link !== undefined) this.link.end(this.link.client);
    this.over(1006, '');
  }

  /** The connection stays, but nothing gets through any more. */
  silence(): void {
    this.link?.silence();
  }

  /** From now on, it reads slowly. */
  slowDown(bytesPerMs: number): void {
    if (this.link !== undefined) this.link.down.bytesPerMs = bytesPerMs;
  }

  cut(): void {
    this.link?.cut();
  }

  upgraded(): void {
    if (this.readyState !== CONNECTING) return;
    this.readyState = OPEN;
    this.onopen?.();
  }

  frame(text: string): void {
    if (this.readyState === OPEN) this.onmessage?.({ data: text });
  }

  pinged(payload: string): void {
    const { link, server } = this;
    link?.up.send(payload.length, () => {
      if (!link.server.isOver) server?.receivedPong(payload);
    });
  }

  closed(code: number, reason: string): void {
    if (this.link !== undefined) this.link.end(this.link.client);
    this.over(code, reason, true);
  }

  /** The handshake was refused. */
  head(): void {
    this.terminate();
  }

  chunk(): void {
    // Browsers show nothing of a refused handshake.
  }

  responseEnded(): void {
    // The same.
  }

  private connected(link: Link, server: ServerSide, target: string): void {
    if (this.readyState === CLOSED) {
      link.end(link.client);
      return;
    }
    this.link = link;
    this.server = server;
    link.client.onEnded = () => this.over(1006, '');
    link.client.onLost = () => this.over(1006, '');
    const headers = { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-key': 'x' };
    link.up.send(200, () => server.requested({ method: 'GET', target, headers }, this));
  }

  private over(code: number, reason: string, wasClean = false): void {
    if (this.readyState === CLOSED) return;
    const wasOpen = this.readyState !== CONNECTING;
    this.readyState = CLOSED;
    if (!wasOpen) this.onerror?.(new Error('The connection could not be opened'));
    this.onclose?.({ code, reason, wasClean });
  }
}
