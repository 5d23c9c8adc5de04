import type { Context } from '../kernel/context.ts';
import { type Network, networkInUse } from './network.ts';

/** A port between two loops of a process: messages are copied, arrive in order, and wait until somebody listens. */
export class ModelledPort {
  private readonly network: Network;
  private other: ModelledPort | undefined;
  private handler: ((event: { readonly data: unknown }) => void) | undefined;
  private context: Context | undefined;
  private waiting: unknown[] = [];
  private isClosed = false;

  constructor(network: Network) {
    this.network = network;
  }

  static pair(network: Network): readonly [ModelledPort, ModelledPort] {
    const [one, other] = [new ModelledPort(network), new ModelledPort(network)];
    one.other = other;
    other.other = one;
    return [one, other];
  }

  get onmessage() {
    return this.handler;
  }

  set onmessage(handler: ((event: { readonly data: unknown }) => void) | undefined) {
    this.handler = handler;
    this.context = this.network.kernel.context;
    for (const _ of this.waiting) this.pass();
  }

  postMessage(message: unknown): void {
    const { tampering } = this.network;
    const changed = tampering.messages === undefined ? message : tampering.messages(message);
    if (!this.isClosed && changed !== undefined) this.other?.take(structuredClone(changed));
  }

  close(): void {
    this.isClosed = true;
  }

  /** Takes the next message before its event. */
  takePosted(): { readonly message: unknown } | undefined {
    return this.waiting.length === 0 ? undefined : { message: this.waiting.shift() };
  }

  private take(data: unknown): void {
    this.waiting.push(data);
    if (this.handler !== undefined) this.pass();
  }

  private pass(): void {
    const { network, context } = this;
    if (context === undefined) return;
    network.post(context, () => {
      const taken = this.takePosted();
      if (taken !== undefined && !this.isClosed) this.handler?.({ data: taken.message });
    });
  }
}

/** In place of the class of the runtime. */
export class ModelledChannel {
  readonly port1: ModelledPort;
  readonly port2: ModelledPort;

  constructor() {
    [this.port1, this.port2] = ModelledPort.pair(networkInUse());
  }
}
