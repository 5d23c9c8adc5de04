import { loopName } from '../link/loop-name.ts';
import type { FromRealtimeThread, RealtimeStart, ToRealtimeThread } from '../link/messages.ts';
import { StartFailed } from '../start-failed.ts';

type Order = ReturnType<typeof Promise.withResolvers<void>>;

/** A realtime loop in a thread of its own, as the main thread sees it. */
export class RealtimeThread {
  /** Settles only if the thread has died, with the reason. */
  readonly died: Promise<string>;
  private readonly worker = new Worker(new URL('./worker.ts', import.meta.url));
  private readonly up: Order = Promise.withResolvers();
  /** Orders that the thread has not finished, in their sequence. */
  private readonly orders: Order[] = [this.up];
  private readonly reportDeath: (why: string) => void;
  private isEnded = false;

  constructor(index: number) {
    const died = Promise.withResolvers<string>();
    this.died = died.promise;
    this.reportDeath = died.resolve;
    const end = (why: string) => {
      this.isEnded = true;
      const failed = new StartFailed({ exitCode: 1, message: why });
      for (const order of this.orders.splice(0)) order.reject(failed);
      this.reportDeath(why);
    };
    this.worker.onmessage = ({ data }: MessageEvent<FromRealtimeThread>) => this.dispatch(data);
    this.worker.onerror = (event) => end(`The thread ${loopName(index)} failed: ${event.message}`);
    this.worker.addEventListener('close', () => end(`The thread ${loopName(index)} has ended`));
  }

  async open(start: RealtimeStart): Promise<void> {
    await this.up.promise;
    const { logPort, backgroundPort, loopPorts } = start;
    const links = loopPorts.filter((port) => port !== undefined);
    await this.order({ type: 'open', ...start }, [logPort, backgroundPort, ...links]);
  }

  /** Gives an order. Settles once it is done; rejects with `StartFailed` if it fails or the thread dies. */
  async order(message: ToRealtimeThread, transfer: MessagePort[] = []): Promise<void> {
    if (this.isEnded) throw new StartFailed({ exitCode: 1, message: await this.died });
    const order: Order = Promise.withResolvers();
    this.orders.push(order);
    this.worker.postMessage(message, transfer);
    await order.promise;
  }

  terminate(): void {
    void this.worker.terminate();
  }

  private dispatch(message: FromRealtimeThread): void {
    switch (message.type) {
      case 'up':
      case 'done':
        this.orders.shift()?.resolve();
        return;
      case 'failed':
        this.orders.shift()?.reject(new StartFailed(message.fault));
        return;
      case 'died':
        this.reportDeath(message.why);
        return;
      default:
        message satisfies never;
    }
  }
}
