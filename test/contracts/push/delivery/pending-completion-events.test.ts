import { databases } from '../../../../testing/databases/databases.ts';
import { memoryPushStores, openPushStores } from '../stores.ts';
import { pendingCompletionEventsContract } from './pending-completion-events.contract.ts';

pendingCompletionEventsContract('MemoryPendingCompletionEvents', async () => memoryPushStores());

for (const { name, make } of databases) {
  pendingCompletionEventsContract(`StoredPendingCompletionEvents in ${name}`, () =>
    openPushStores(make),
  );
}
