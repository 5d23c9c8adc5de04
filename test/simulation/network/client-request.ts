import type { Link } from './link.ts';
import { networkInUse } from './network.ts';
import type { ArrivingRequest, ClientSide } from './sides.ts';

/** What a client hears of the answer to a request. */
export interface RequestEvents {
  /** `text`: all that has come so far. */
  progress?(status: number, text: string): void;
  /** It is over. `status` 0: the connection was refused or broke off. */
  ended(status: number, text: string): void;
}

/** One HTTP request over a connection of its own. */
export class ClientRequest implements ClientSide {
  private readonly events: RequestEvents;
  private link: Link | undefined;
  private status = 0;
  private text = '';
  private isOver = false;
  private isCut = false;

  constructor(host: string, request: ArrivingRequest, events: RequestEvents) {
    this.events = events;
    const length = request.body === undefined ? 0 : Buffer.byteLength(request.body);
    const headers = { ...request.headers, 'content-length': String(length) };
    networkInUse().connect(
      host,
      (link, server) => {
        if (this.isOver) return link.end(link.client);
        this.link = link;
        link.client.onEnded = () => this.end(0);
        link.client.onLost = () => this.end(0);
        if (this.isCut) return link.cut();
        link.up.send(length + 200, () => server.requested({ ...request, headers }, this));
      },
      () => this.end(0),
    );
  }

  /** Gives it up. */
  abort(): void {
    this.isOver = true;
    this.close();
  }

  /** The connection breaks. */
  cut(): void {
    this.isCut = true;
    this.link?.cut();
  }

  /** The connection stays, but nothing gets through any more. */
  silence(): void {
    this.link?.silence();
  }

  /** From now on, the answer is read slowly. */
  slowDown(bytesPerMs: number): void {
    if (this.link !== undefined) this.link.down.bytesPerMs = bytesPerMs;
  }

  head(status: number): void {
    this.status = status;
  }

  chunk(text: string): void {
    if (this.isOver) return;
    this.text += text;
    this.events.progress?.(this.status, this.text);
  }

  responseEnded(): void {
    this.close();
    this.end(this.status);
  }

  upgraded(): void {
    // Nobody asks for that here.
  }

  frame(): void {
    // Nor for this.
  }

  pinged(): void {
    // Nor for this.
  }

  closed(): void {
    // Nor for this.
  }

  private close(): void {
    if (this.link !== undefined) this.link.end(this.link.client);
  }

  private end(status: number): void {
    if (this.isOver) return;
    this.isOver = true;
    this.events.ended(status, this.text);
  }
}
