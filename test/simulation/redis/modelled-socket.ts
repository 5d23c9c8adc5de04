import { EventEmitter } from 'node:events';
import type { Link } from '../network/link.ts';

/** In place of a socket to Redis: what the link of the engine uses of one. */
export class ModelledSocket extends EventEmitter {
  private readonly link: Link;
  private readonly sendUp: (bytes: Buffer) => void;

  constructor(link: Link, sendUp: (bytes: Buffer) => void) {
    super();
    this.link = link;
    this.sendUp = sendUp;
    link.client.onEnded = () => void this.emit('close');
    link.client.onLost = () => {
      this.emit('error', new Error('read ECONNRESET'));
      this.emit('close');
    };
  }

  /** Whether the connection is over before anybody has used it. */
  get isOver(): boolean {
    return this.link.client.isOver;
  }

  write(text: string): void {
    const { link } = this;
    const bytes = Buffer.from(text);
    if (!link.client.isOver) link.up.send(bytes.length, () => this.sendUp(bytes));
  }

  destroy(): void {
    this.link.end(this.link.client);
  }

  /** Bytes of Redis have arrived. */
  receive(bytes: Buffer): void {
    if (!this.link.client.isOver) this.emit('data', bytes);
  }
}
