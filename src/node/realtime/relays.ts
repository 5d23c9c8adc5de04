import { hasOwnStore } from '../../config/settings/own-store.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { RevocationRelay } from '../link/revocation-relay.ts';
import { RuleEventRelay } from '../link/rule-event-relay.ts';
import { WebhookRelay } from '../link/webhook-relay.ts';
import type { LoopBase } from './loop-base.ts';

/** The bounded ways to the background loop. */
export interface Relays {
  readonly webhooks: WebhookRelay;
  readonly ruleEvents: RuleEventRelay;
  readonly revocations: RevocationRelay;
}

export function openRelays(base: LoopBase): Relays {
  const { links, totals, meter, log, rateLimitedLog, toBackground } = base;
  const { webhookCharacters } = base.memory.shares;
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
    revocations: new RevocationRelay({
      send: (number, revocation) => toBackground({ type: 'revoke', number, revocation }),
      isStoreOwn: hasOwnStore(base.config),
      timers: base.timers,
    }),
  };
}
