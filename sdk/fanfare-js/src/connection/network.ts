import Emitter from '../emitter.ts';

interface PageEvent {
  /** The page goes into the back-forward cache, or comes out of it. */
  readonly persisted?: boolean;
}

interface Page {
  addEventListener?(event: string, listener: (event: PageEvent) => void): void;
  readonly document?: Page;
  readonly visibilityState?: string;
}

/** What a page or a worker hears of its network and of its own sleep: `online`, `offline`, `hide` and `wake`. */
export class Network extends Emitter {
  constructor(onWake?: (wake: () => void) => void) {
    super();
    onWake?.(() => this.emit('wake'));
    const page = globalThis as Page;
    const { document } = page;
    const emits = (
      name: string,
      event: string,
      by: Page = page,
      isMeant?: (event: PageEvent) => unknown,
    ) =>
      by.addEventListener?.(event, (heard) => {
        if (!isMeant || isMeant(heard)) this.emit(name);
      });
    const isCached = ({ persisted }: PageEvent) => persisted;
    emits('online', 'online');
    emits('offline', 'offline');
    emits('hide', 'pagehide', page, isCached);
    emits('wake', 'pageshow', page, isCached);
    emits('wake', 'resume', document);
    emits('wake', 'visibilitychange', document, () => document?.visibilityState === 'visible');
  }
}
