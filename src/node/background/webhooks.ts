import { createSendRequest } from '../../outgoing/request.ts';
import { monotonicTimers, systemTimers } from '../../runtime/system-timers.ts';
import { StoredOutbox } from '../../stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../../stores/webhooks/outbox-log.ts';
import { Webhooks } from '../../webhooks/webhooks.ts';
import type { BackgroundBase } from './base.ts';
import type { Tenants } from './tenants.ts';
import { recordAttempt } from './watching.ts';

/** Opens the webhooks of this server, and continues with what the store still holds. */
export function openWebhooks(
  { config, memory, database, health, resolver, proxy, log }: BackgroundBase,
  { apps, instances }: Tenants,
): Promise<Webhooks> {
  return Webhooks.open({
    outbox: new StoredOutbox(database),
    outboxLog: new StoredOutboxLog(database),
    app: (id) => apps.directory.byId(id),
    instance: (id) => instances.directory.byId(id),
    settings: config.webhooks,
    send: createSendRequest({
      ...config.webhooks,
      allowedBy: 'webhooks.allowPrivateAddresses',
      resolver,
      proxy,
    }),
    log,
    charactersMax: memory.shares.webhookCharacters,
    timers: systemTimers,
    monotonic: monotonicTimers,
    shared: database.dialect === 'postgres',
    storeState: health.reporter('webhooks'),
    onAttempt: (settlement) => recordAttempt(apps.directory, settlement),
  });
}
