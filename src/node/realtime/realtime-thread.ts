import { loopName } from '../link/loop-name.ts';
import type { FromRealtimeThread, RealtimeStart, ToRealtimeThread } from '../link/messages.ts';
import { StartFailed } from '../start-failed.ts';

type PendingCommand = ReturnType<typeof Promise.withResolvers<void>>;

/** A realtime loop on its own thread, seen from the main thread. */
export class RealtimeThread {
  /** Settles only if the thread has died, with the reason. */
  readonly died: Promise<string>;
  private readonly worker = new Worker(new URL('./worker.ts', import.meta.url));
  private readonly up: PendingCommand = Promise.withResolvers();
  /** Commands that the thread has not finished, in order. */
  private readonly pending: PendingCommand[] = [this.up];
  private readonly reportDeath: (why: string) => void;
  private isEnded = false;

  constructor(index: number) {
    const died = Promise.withResolvers<string>();
    this.died = died.promise;
    this.reportDeath = died.resolve;
    const end = (why: string) => {
      this.isEnded = true;
      const failed = new StartFailed({ exitCode: 1, message: why });
      for (const one of this.pending.splice(0)) one.reject(failed);
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
    await this.command({ type: 'open', ...start }, [logPort, backgroundPort, ...links]);
  }

  /** Sends a command. Settles when it is done; rejects with `StartFailed` if it fails or the thread dies. */
  async command(message: ToRealtimeThread, transfer: MessagePort[] = []): Promise<void> {
    if (this.isEnded) throw new StartFailed({ exitCode: 1, message: await this.died });
    const pending: PendingCommand = Promise.withResolvers();
    this.pending.push(pending);
    this.worker.postMessage(message, transfer);
    await pending.promise;
  }

  terminate(): void {
    void this.worker.terminate();
  }

  private dispatch(message: FromRealtimeThread): void {
    switch (message.type) {
      case 'up':
      case 'done':
        this.pending.shift()?.resolve();
        return;
      case 'failed':
        this.pending.shift()?.reject(new StartFailed(message.fault));
        return;
      case 'died':
        this.reportDeath(message.why);
        return;
      default:
        message satisfies never;
    }
  }
}
