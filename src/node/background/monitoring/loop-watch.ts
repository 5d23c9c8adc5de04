import { messageOf } from '../../../runtime/error-code.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import { loopName } from '../../link/loop-name.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';

/** The pause between a loop's answer and the next question. Milliseconds. */
const INTERVAL_MS = 1000;

export interface LoopWatchOptions {
  readonly realtime: Pick<RealtimeClient, 'count' | 'ask'>;
  readonly readiness: Readiness;
  readonly log: Log;
}

/** Pings each realtime loop. A server with a hanging loop is not ready. */
export class LoopWatch implements Disposable {
  private readonly options: LoopWatchOptions;
  private readonly timers = new Set<NodeJS.Timeout>();
  private isEnded = false;

  constructor(options: LoopWatchOptions) {
    this.options = options;
    for (let loop = 0; loop < options.realtime.count; loop++) this.askLater(loop);
  }

  [Symbol.dispose](): void {
    this.isEnded = true;
    for (const timer of this.timers) clearTimeout(timer);
  }

  private askLater(loop: number): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      void this.ask(loop);
    }, INTERVAL_MS);
    this.timers.add(timer);
  }

  private async ask(loop: number): Promise<void> {
    const { realtime, readiness, log } = this.options;
    const name = loopName(loop);
    try {
      await realtime.ask({ what: 'ping' }, loop);
      if (readiness.setLoop(name, { answers: true }))
        log.info('Realtime loop answers again', { loop: name });
    } catch (error) {
      if (this.isEnded) return;
      const hasChanged = readiness.setLoop(name, { answers: false });
      if (hasChanged)
        log.error('Realtime loop does not answer', { loop: name, why: messageOf(error) });
    }
    if (!this.isEnded) this.askLater(loop);
  }
}
