/** An answer to a health check: text, without a line of reasons. */
export interface HealthAnswer {
  readonly status: 200 | 405 | 503;
  readonly text: string;
}

/** The headers of each answer. */
export const HEALTH_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
};

/** The value of `Allow` for health checks. */
export const HEALTH_METHODS = 'GET, HEAD';

const ALIVE: HealthAnswer = { status: 200, text: 'ok\n' };
const READY: HealthAnswer = { status: 200, text: 'ready\n' };
const NOT_READY: HealthAnswer = { status: 503, text: 'not ready\n' };
const WRONG_METHOD: HealthAnswer = {
  status: 405,
  text: `405 METHOD NOT ALLOWED: use ${HEALTH_METHODS}\n`,
};

/**
 * Answers the health checks of load balancers on a listener for clients. Anybody can ask there, so the answers give no
 * reasons: the admin listener does.
 */
export class ListenerHealth {
  private isReady = false;
  private isStopping = false;

  setReady(isReady: boolean): void {
    this.isReady = isReady;
  }

  /** Makes the listener not ready from now on. */
  stop(): void {
    this.isStopping = true;
  }

  /** Answers a request; `undefined` if its path is for something else. */
  answer(method: string, path: string): HealthAnswer | undefined {
    if (path !== '/healthz' && path !== '/readyz') return undefined;
    if (method !== 'GET' && method !== 'HEAD') return WRONG_METHOD;
    if (path === '/healthz') return ALIVE;
    return this.isReady && !this.isStopping ? READY : NOT_READY;
  }
}
