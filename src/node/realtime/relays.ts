import type { TableMeter } from '../../observability/meter.ts';
import type { RateLimitedLog } from '../../runtime/logging/rate-limited-log.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { OpenTotals } from '../link/loop-totals.ts';
import { RuleEventRelay } from '../link/rule-event-relay.ts';
import { WebhookRelay } from '../link/webhook-relay.ts';
import type { LoopOptions } from './loop-options.ts';

export interface RelaysOptions
  extends Pick<LoopOptions, 'links' | 'log' | 'toBackground' | 'memory'> {
  /** The counts of all loops of this process, if there are several. */
  readonly totals: OpenTotals | undefined;
  readonly meter: TableMeter;
  readonly rateLimitedLog: RateLimitedLog;
}

/** The bounded ways of events to the background loop. */
export interface Relays {
  readonly webhooks: WebhookRelay;
  readonly ruleEvents: RuleEventRelay;
}

export function openRelays(options: RelaysOptions): Relays {
  const { links, totals, meter, log, rateLimitedLog, toBackground } = options;
  const { webhookCharacters } = options.memory.shares;
  return {
    webhooks: new WebhookRelay({
      send: (events) => toBackground({ type: 'webhook-events', events }),
      meter,
      log: rateLimitedLog,
      charactersMax: webhookCharacters,
      loops: links.count,
      waiting: totals && { items: totals.webhookEvents, bytes: totals.webhookCharacters },
    }),
    ruleEvents: new RuleEventRelay({
      send: (event) => toBackground({ type: 'rule-event', event }),
      charactersMax: webhookCharacters / 4,
      clock: monotonicTimers,
      log,
      meter,
    }),
  };
}
