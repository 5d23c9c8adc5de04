import type { Exchange } from './exchange.ts';
import { ERROR, ProtocolFault, STREAM_ID_MAX } from './frames/protocol.ts';

/** The requests in flight on one connection, by stream id, the oldest first. */
export class OpenStreams {
  /** How many are untrusted. */
  untrusted = 0;
  private readonly exchanges = new Map<number, Exchange>();
  private nextId = 1;

  get size(): number {
    return this.exchanges.size;
  }

  get oldest(): Exchange | undefined {
    return this.exchanges.values().next().value;
  }

  get oldestTrusted(): Exchange | undefined {
    return this.exchanges.values().find((exchange) => exchange.isTrusted);
  }

  /** Whether no further stream can be opened. */
  get isExhausted(): boolean {
    return this.nextId > STREAM_ID_MAX;
  }

  all(): Iterable<Exchange> {
    return this.exchanges.values();
  }

  entries(): Iterable<[id: number, exchange: Exchange]> {
    return this.exchanges;
  }

  /** Opens a stream and returns its id. */
  open(exchange: Exchange): number {
    const id = this.nextId;
    this.nextId += 2;
    this.exchanges.set(id, exchange);
    if (!exchange.isTrusted) this.untrusted++;
    return id;
  }

  /** `undefined` if the stream has been closed. Throws a `ProtocolFault` if we never opened it. */
  get(id: number): Exchange | undefined {
    if (id % 2 === 0 || id >= this.nextId) {
      throw new ProtocolFault(ERROR.protocolError, 'unknown stream');
    }
    return this.exchanges.get(id);
  }

  close(id: number, exchange: Exchange): void {
    if (this.exchanges.delete(id) && !exchange.isTrusted) this.untrusted--;
  }

  /** Closes all streams and returns them. */
  closeAll(): readonly [id: number, exchange: Exchange][] {
    const all = [...this.exchanges];
    this.exchanges.clear();
    this.untrusted = 0;
    return all;
  }
}
