import { databases } from '../../../../testing/databases/databases.ts';
import { memoryPushStores, openPushStores } from '../stores.ts';
import { deliveryStoreContract } from './delivery-store.contract.ts';

deliveryStoreContract('MemoryDeliveries', async () => memoryPushStores());

for (const { name, make } of databases) {
  deliveryStoreContract(`StoredDeliveries in ${name}`, () => openPushStores(make));
}
