import { unrefTimers } from '../../runtime/system-timers.ts';
import { every } from '../../runtime/time/every.ts';
import type { Readiness } from '../../transports/admin/readiness.ts';
import type { RealtimeClient } from '../link/realtime-client.ts';
import type { PushPart } from './push/push.ts';

/** Readiness also changes with time, so nobody reports a change. */
const INTERVAL_MS = 100;

export interface ReadinessReportsOptions {
  readonly readiness: Pick<Readiness, 'reasons'>;
  readonly push: Pick<PushPart, 'setReadiness'>;
  readonly realtime: Pick<RealtimeClient, 'postToAll'>;
}

/** Reports to the listeners for clients whether this server is ready. Runs as long as this thread. */
export class ReadinessReports {
  private readonly options: ReadinessReportsOptions;
  private reported = false;

  constructor(options: ReadinessReportsOptions) {
    this.options = options;
    every(unrefTimers, INTERVAL_MS, () => this.report());
  }

  /** Reports now if it has changed. */
  report(): void {
    const { readiness, push, realtime } = this.options;
    const isReady = readiness.reasons().length === 0;
    if (isReady === this.reported) return;
    this.reported = isReady;
    push.setReadiness(isReady);
    realtime.postToAll({ type: 'readiness', isReady });
  }
}
