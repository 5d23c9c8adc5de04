import PusherJs from 'pusher-js';
import type { Context } from '../kernel/context.ts';
import { kernelInUse } from '../kernel/globals.ts';
import type { ClientRequest } from '../network/client-request.ts';
import { ClientSocket } from '../network/client-socket.ts';
import { SimulatedXhr } from './simulated-xhr.ts';

/** What carries a client's frames: a WebSocket, or the request that receives. */
export interface Carrier {
  cut(): void;
  silence(): void;
  slowDown(bytesPerMs: number): void;
}

/** What `pusher-js` has of the modelled network, for each client, whose context is its own. */
export interface PusherNetwork {
  carrier: Carrier | undefined;
  /** Requests with messages that are not answered. */
  sending: number;
  /** The frame that is being handled. */
  frame: string;
}

const networks = new WeakMap<Context, PusherNetwork>();

/** The part of `pusher-js` that is replaced. */
interface Runtime {
  createWebSocket(url: string): ClientSocket;
  getXHRAPI(): unknown;
  randomInt(max: number): number;
  readonly HTTPFactory: { createSocket(hooks: object, url: string): HttpSocket };
}

interface HttpSocket {
  onEvent(frame: string): void;
}

class NotingSocket extends ClientSocket {
  private readonly network: PusherNetwork | undefined;

  constructor(url: string) {
    super(url);
    this.network = networks.get(kernelInUse().context);
    if (this.network !== undefined) this.network.carrier = this;
  }

  override frame(text: string): void {
    if (this.network !== undefined) this.network.frame = text;
    super.frame(text);
  }
}

class NotingXhr extends SimulatedXhr {
  protected override requested(request: ClientRequest, target: string): void {
    const network = networks.get(kernelInUse().context);
    if (network === undefined) return;
    if (/\/xhr(?:_streaming)?\?/.test(target)) network.carrier = request;
    else network.sending++;
  }

  /** `pusher-js` does not notice that a message got no answer, and no server can: the page connects again. */
  protected override ended(path: string, status: number): void {
    const network = networks.get(kernelInUse().context);
    if (network === undefined || !path.endsWith('/xhr_send')) return;
    network.sending--;
    if (status === 0) network.carrier?.cut();
  }
}

/** Notes what the client of this context does. */
export function notePusher(context: Context): PusherNetwork {
  const network: PusherNetwork = { carrier: undefined, sending: 0, frame: '' };
  networks.set(context, network);
  return network;
}

/** Gives `pusher-js` the modelled network. */
export function replacePusherRuntime(): void {
  const runtime = (PusherJs as unknown as { readonly Runtime: Runtime }).Runtime;
  runtime.createWebSocket = (url) => new NotingSocket(url);
  runtime.getXHRAPI = () => NotingXhr;
  runtime.randomInt = (max) => Math.floor(Math.random() * max);
  const factory = runtime.HTTPFactory;
  const create = factory.createSocket.bind(factory);
  factory.createSocket = (hooks, url) => {
    const socket = create(hooks, url);
    const network = networks.get(kernelInUse().context);
    const handle = socket.onEvent.bind(socket);
    socket.onEvent = (frame) => {
      if (network !== undefined) network.frame = frame;
      handle(frame);
    };
    return socket;
  };
}
