import type { LoopMessage, LoopPorts } from './messages.ts';

/** Takes all messages that another loop sent in one turn. */
type Receive = (from: number, messages: readonly LoopMessage[]) => void;

export interface LoopLinksOptions {
  /** The number of this loop. Loop 0 runs on the main thread. */
  readonly index: number;
  readonly ports: LoopPorts;
}

/**
 * The links of one realtime loop to the others of this process.
 *
 * Messages to one loop arrive in the order in which they were sent. All messages of one turn of the event loop are posted
 * as one array, since posting them one by one costs 2.6 times as much. With a single loop there is nothing to send to.
 */
export class LoopLinks implements Disposable {
  readonly index: number;
  private readonly ports: LoopPorts;
  /** The messages of this turn, by loop. */
  private readonly batches: LoopMessage[][];
  private isFlushPending = false;

  constructor({ index, ports }: LoopLinksOptions) {
    this.index = index;
    this.ports = ports;
    this.batches = ports.map(() => []);
  }

  /** The number of realtime loops. */
  get count(): number {
    return this.ports.length;
  }

  /**
   * Sends a message to another loop at the end of this turn. The message is copied then, so it must not be changed after this
   * call.
   */
  send(loop: number, message: LoopMessage): void {
    if (this.ports[loop] === undefined)
      throw new Error(`Loop ${this.index} has no link to ${loop}`);
    this.batches[loop]?.push(message);
    if (this.isFlushPending) return;
    this.isFlushPending = true;
    setImmediate(() => this.flush());
  }

  /** Sends a message to every other loop at the end of this turn. */
  sendToAll(message: LoopMessage): void {
    for (const loop of this.ports.keys()) {
      if (loop !== this.index) this.send(loop, message);
    }
  }

  /** Begins to receive. Messages that came earlier are delivered first. */
  receive(receive: Receive): void {
    for (const [from, port] of this.ports.entries()) {
      if (port === undefined) continue;
      port.onmessage = ({ data }: { readonly data: readonly LoopMessage[] }) => receive(from, data);
    }
  }

  /** Sends what waits, and closes the ports. */
  [Symbol.dispose](): void {
    this.flush();
    for (const port of this.ports) port?.close();
  }

  private flush(): void {
    this.isFlushPending = false;
    for (const [loop, batch] of this.batches.entries()) {
      if (batch.length === 0) continue;
      this.ports[loop]?.postMessage(batch);
      this.batches[loop] = [];
    }
  }
}

/** Links every loop with every other one. Returns the ports of each loop. */
export function linkLoops(count: number): LoopPorts[] {
  const ports = Array.from({ length: count }, () =>
    new Array<MessagePort | undefined>(count).fill(undefined),
  );
  for (const [a, portsOfA] of ports.entries()) {
    for (const [b, portsOfB] of ports.entries()) {
      if (b <= a) continue;
      const { port1, port2 } = new MessageChannel();
      portsOfA[b] = port1;
      portsOfB[a] = port2;
    }
  }
  return ports;
}
