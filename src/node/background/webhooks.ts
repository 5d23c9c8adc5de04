import type { Config } from '../../config/schema.ts';
import type { ForwardProxy } from '../../outgoing/proxy/forward-proxy.ts';
import { createSendRequest } from '../../outgoing/request.ts';
import type { Resolver } from '../../outgoing/resolve.ts';
import type { Log } from '../../runtime/ports.ts';
import { monotonicTimers, systemTimers } from '../../runtime/system-timers.ts';
import type { Database } from '../../stores/database/database.ts';
import { StoredOutbox } from '../../stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../../stores/webhooks/outbox-log.ts';
import { Webhooks } from '../../webhooks/webhooks.ts';
import type { MemoryPlan } from '../memory/shares.ts';
import type { StoreHealth } from './store/store-health.ts';
import type { Tenants } from './tenants.ts';
import { recordAttempt } from './watching.ts';

export interface OpenWebhooksOptions {
  readonly config: Config;
  readonly memory: MemoryPlan;
  readonly database: Database;
  readonly health: StoreHealth;
  readonly tenants: Pick<Tenants, 'apps' | 'instances'>;
  readonly resolver: Resolver;
  readonly proxy: ForwardProxy | undefined;
  readonly log: Log;
}

/** Opens the webhooks of this server, and continues with what the store still holds. */
export function openWebhooks(options: OpenWebhooksOptions): Promise<Webhooks> {
  const { config, memory, database, health, tenants, resolver, proxy, log } = options;
  const { apps, instances } = tenants;
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
