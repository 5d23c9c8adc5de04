import { messageOf } from '../../../runtime/error-code.ts';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { Poller } from '../../../runtime/time/poller.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import { loopName } from '../../link/loop-name.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';

/** The pause between a loop's answer and the next question. Milliseconds. */
const INTERVAL_MS = 1000;

export interface LoopWatchOptions {
  readonly realtime: Pick<RealtimeClient, 'count' | 'ask'>;
  readonly readiness: Readiness;
  readonly timers: Timers;
  readonly log: Log;
}

/** Pings each realtime loop. A server with a hanging loop is not ready. */
export class LoopWatch implements Disposable {
  private readonly options: LoopWatchOptions;
  private readonly pollers: readonly Poller[];
  private isEnded = false;

  constructor(options: LoopWatchOptions) {
    this.options = options;
    this.pollers = Array.from(
      { length: options.realtime.count },
      (_, loop) => new Poller(options.timers, () => this.ask(loop)),
    );
    for (const poller of this.pollers) poller.wakeLater(INTERVAL_MS);
  }

  [Symbol.dispose](): void {
    this.isEnded = true;
    for (const poller of this.pollers) void poller.stop();
  }

  private async ask(loop: number): Promise<number> {
    const { realtime, readiness, log } = this.options;
    const name = loopName(loop);
    try {
      await realtime.ask('ping', {}, loop);
      if (readiness.setLoop(name, { answers: true }))
        log.info('Realtime loop answers again', { loop: name });
    } catch (error) {
      if (this.isEnded) return INTERVAL_MS;
      const hasChanged = readiness.setLoop(name, { answers: false });
      if (hasChanged)
        log.error('Realtime loop does not answer', { loop: name, why: messageOf(error) });
    }
    return INTERVAL_MS;
  }
}
