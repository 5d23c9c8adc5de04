import { StoredPendingCompletionEvents } from '../../src/stores/push/publishes/pending-completion-events.ts';
import { StoredOutbox } from '../../src/stores/webhooks/outbox.ts';
import { PushListener } from '../../src/transports/push-api/listener.ts';

/** Runs in the background thread of `held-events-server.fixture.ts`, before the background loop itself. */

const never = () => new Promise<never>(() => undefined);

if (process.env['HELD'] === 'requests') StoredOutbox.prototype.write = never;
if (process.env['HELD'] === 'removals') StoredPendingCompletionEvents.prototype.remove = never;
if (process.env['HELD'] === 'stop') PushListener.prototype[Symbol.asyncDispose] = never;
