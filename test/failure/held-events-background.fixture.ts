import { StoredPendingCompletionEvents } from '../../src/stores/push/publishes/pending-completion-events.ts';
import { StoredOutbox } from '../../src/stores/webhooks/outbox.ts';

/** Runs in the background thread of `held-events-server.fixture.ts`, before the background loop itself. */

const never = () => new Promise<never>(() => undefined);

if (process.env['HELD'] === 'requests') StoredOutbox.prototype.write = never;
if (process.env['HELD'] === 'removals') StoredPendingCompletionEvents.prototype.remove = never;
