import {
  RedisServer,
  type RedisServerOptions,
} from '../../../src/engines/redis/link/redis-server.ts';
import { TableMeter } from '../../../src/observability/meter.ts';
import type { MetricId } from '../../../src/observability/metrics-table.ts';
import type { Log } from '../../../src/runtime/ports.ts';
import { monotonicTimers } from '../../../src/runtime/system-timers.ts';

/** Shorter than in production, so that tests do not wait. */
export const DEADLINE_MS = 500;
export const SILENCE_MS = 1_000;

/** A connected server, and what it has reported. */
export interface TestLink extends AsyncDisposable {
  readonly server: RedisServer;
  /** `away`, `gap` and `back`, in their order. */
  readonly events: readonly string[];
  readonly messages: readonly (readonly [channel: string, payload: string])[];
  readonly warnings: readonly string[];
  readonly meter: TableMeter;
  /** Called at each `onBack`. */
  onBack: () => void;
}

/** The value of a counter so far. */
export function counted(meter: TableMeter, id: MetricId, label = ''): number {
  return meter.snapshot().get(id)?.get(label) ?? 0;
}

type Options = Partial<Omit<RedisServerOptions, 'meter'>> & Pick<RedisServerOptions, 'url'>;

export async function openLink(options: Options): Promise<TestLink> {
  const events: string[] = [];
  const messages: (readonly [string, string])[] = [];
  const warnings: string[] = [];
  const meter = new TableMeter();
  const ignore = () => undefined;
  const log: Log = {
    debug: ignore,
    info: ignore,
    warn: (text) => warnings.push(text),
    error: ignore,
  };
  const server = await RedisServer.open({
    prefix: 'fanfare:',
    scripts: [],
    meter,
    log,
    timers: monotonicTimers,
    deadlineMs: DEADLINE_MS,
    silenceMs: SILENCE_MS,
    listener: {
      onAway: () => events.push('away'),
      onGap: () => events.push('gap'),
      onBack: () => {
        events.push('back');
        link.onBack();
      },
      onMessage: (channel, payload) => messages.push([channel, payload]),
    },
    ...options,
  });
  const link: TestLink = {
    server,
    events,
    messages,
    warnings,
    meter,
    onBack: ignore,
    [Symbol.asyncDispose]: () => server.close(),
  };
  return link;
}
