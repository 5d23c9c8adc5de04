import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'bun:test';
import { cancellingContract } from './cancelling.contract.ts';
import { capsContract } from './caps.contract.ts';
import { DeliveryScene } from './delivery-scene.ts';
import type { DeliverySetup, OpenDeliveryStores } from './delivery-setup.ts';
import { duesContract } from './dues.contract.ts';
import { givingWayContract } from './giving-way.contract.ts';
import { jobStoreContract } from './job-store.contract.ts';
import { paceContract } from './pace.contract.ts';
import { pausedDevicesContract } from './paused-devices.contract.ts';
import { planningStoreContract } from './planning-store.contract.ts';
import { retriesContract } from './retries.contract.ts';
import { storyStoreContract } from './story-store.contract.ts';
import { workClaimsContract } from './work-claims.contract.ts';

/** The contracts of all ports through which publishes are planned and delivered, on the same stores. */
export function deliveryStoreContract(name: string, open: () => Promise<OpenDeliveryStores>): void {
  describe(`${name} keeps the delivery contracts`, () => {
    let opened: OpenDeliveryStores;
    let setup: DeliverySetup;
    const instances: number[] = [];
    const newScene = async () => {
      const instance = await opened.newInstance();
      instances.push(instance);
      return new DeliveryScene(opened, instance);
    };
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened[Symbol.asyncDispose]());
    beforeEach(async () => {
      const { store, other } = opened;
      setup = { opened, store, other, scene: await newScene(), newScene };
    });
    // Nothing is left to be claimed by the next test.
    afterEach(async () => {
      for (const instance of instances.splice(0)) await opened.deleteInstance(instance);
    });

    for (const contract of [
      planningStoreContract,
      jobStoreContract,
      retriesContract,
      cancellingContract,
      givingWayContract,
      pausedDevicesContract,
      duesContract,
      paceContract,
      capsContract,
      workClaimsContract,
      storyStoreContract,
    ]) {
      contract(() => setup);
    }
  });
}
