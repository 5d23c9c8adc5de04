import type { App } from '../../channels/app.ts';
import type { KeySetSource } from '../../channels/ports.ts';
import type { Timers } from '../../runtime/ports.ts';
import type { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { BackgroundToLoop } from '../link/messages.ts';

/** How long clients wait for a key set. */
const WAIT_MS = 5_000;

/** How often clients of one app can make the server fetch its key set. */
export const ASK_INTERVAL_MS = 30_000;

export interface KeySetAsksOptions {
  readonly apps: MemoryAppDirectory;
  readonly timers: Timers;
  /** Asks the background loop. */
  readonly ask: (appId: string, known: number | undefined) => void;
}

/** What this loop has asked about the key set of an app. */
interface Ask {
  /** Settles with the answer, or without one in time; `undefined`: it has. */
  waiting: PromiseWithResolvers<void> | undefined;
  /** When it may be asked again. */
  againAtMs: number;
}

/** Asks the background loop for key sets of issuers, and keeps them in the live apps. All who wait for one share a question. */
export class KeySetAsks implements KeySetSource {
  private readonly options: KeySetAsksOptions;
  private readonly asks = new WeakMap<App, Ask>();

  constructor(options: KeySetAsksOptions) {
    this.options = options;
  }

  refresh(app: App): Promise<void> | undefined {
    const { timers, ask } = this.options;
    const before = this.asks.get(app);
    if (before?.waiting !== undefined) return before.waiting.promise;
    const nowMs = timers.now();
    if (before !== undefined && nowMs < before.againAtMs) return undefined;
    const waiting = Promise.withResolvers<void>();
    const asked: Ask = { waiting, againAtMs: nowMs + ASK_INTERVAL_MS };
    this.asks.set(app, asked);
    const cancel = timers.after(WAIT_MS, () => {
      asked.waiting = undefined;
      waiting.resolve();
    });
    void waiting.promise.then(cancel);
    ask(app.id, app.keySet?.version);
    return waiting.promise;
  }

  /** Handles what the background loop says of a key set. */
  received({ appId, keySet, cause }: Extract<BackgroundToLoop, { type: 'key-set' }>): void {
    const { apps, timers } = this.options;
    apps.setKeySet(appId, keySet);
    const app = apps.byId(appId);
    if (app === undefined || cause === 'changed') return;
    const waiting = this.asks.get(app)?.waiting;
    // Questions of other loops count as well: the background loop would not fetch it again so soon.
    if (cause === 'shared') this.asks.delete(app);
    else this.asks.set(app, { waiting: undefined, againAtMs: timers.now() + ASK_INTERVAL_MS });
    waiting?.resolve();
  }
}
