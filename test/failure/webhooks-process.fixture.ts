import { writeSync } from 'node:fs';
import { createSendRequest } from '../../src/outgoing/request.ts';
import { resolverTo } from '../../src/outgoing/resolver.fixture.ts';
import { monotonicTimers, systemTimers } from '../../src/runtime/system-timers.ts';
import { openDatabase } from '../../src/stores/database/database.ts';
import { StoredOutbox } from '../../src/stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../../src/stores/webhooks/outbox-log.ts';
import { appOf, keptLog, occupied, webhookTo } from '../../src/webhooks/webhooks.fixture.ts';
import { Webhooks } from '../../src/webhooks/webhooks.ts';

/**
 * A process that sends webhooks, to be killed. `… STORE URL FIRST`: accepts an event every few milliseconds,
 * the channel named by a number that counts from FIRST, and prints number and time once it has; without
 * FIRST it only sends what the store holds.
 */
const [, , store = '', url = '', first] = process.argv;
const app = appOf('app', [webhookTo(`${url}/single`), webhookTo(`${url}/batched`, true)]);
const database = await openDatabase(`sqlite:${store}`);
const webhooks = await Webhooks.open({
  outbox: new StoredOutbox(database),
  outboxLog: new StoredOutboxLog(database),
  app: () => app,
  instance: () => undefined,
  settings: { timeoutSeconds: 5, logDays: 7 },
  timers: systemTimers,
  monotonic: monotonicTimers,
  send: createSendRequest({ allowPrivateAddresses: true, resolver: resolverTo('127.0.0.1') }),
  log: keptLog(),
});
writeSync(1, 'ready\n');

if (first !== undefined) {
  let number = Number(first);
  setInterval(() => {
    webhooks.accept([occupied('app', String(number), Date.now())]);
    writeSync(1, `${number} ${Date.now()}\n`);
    number++;
  }, 5);
}
