import { createSendRequest } from '../../../outgoing/request.ts';
import { monotonicTimers, systemTimers } from '../../../runtime/system-timers.ts';
import type { BackgroundBase } from '../base.ts';
import type { Tenants } from '../tenants.ts';
import { createFetchKeySet } from './fetch-key-set.ts';
import { KeySets } from './key-sets.ts';

/** Opens the key sets of issuers. Nothing is fetched before `follow`. */
export function openKeySets(
  { config, realtime, resolver, proxy, meter, log }: BackgroundBase,
  { apps }: Tenants,
): KeySets {
  const send = createSendRequest({
    // Addresses that tenants name, as those of webhooks.
    allowPrivateAddresses: config.webhooks.allowPrivateAddresses,
    allowedBy: 'webhooks.allowPrivateAddresses',
    needsTls: true,
    resolver,
    proxy,
  });
  return new KeySets({
    fetchKeySet: createFetchKeySet(send),
    report(appId, keySet, cause) {
      apps.directory.setKeySet(appId, keySet);
      realtime.postToAll({ type: 'key-set', appId, keySet, cause });
    },
    timers: monotonicTimers,
    clock: systemTimers,
    random: Math.random,
    meter,
    log,
  });
}
