import { type ShareRate, unshared } from '../../../push/rate-exchange.ts';
import { noTaps, type PushTaps } from '../../../push/watching/push-tap.ts';
import type { Endpoints } from '../call.ts';
import { BackendRates } from './backend/backend-rates.ts';
import { createChannel, deleteChannel, listChannels } from './backend/channels.ts';
import { deleteUser } from './backend/delete-user.ts';
import { explainDevice } from './backend/explain-device.ts';
import { exportDevices, importDevices, readImport, undoImport } from './backend/moves.ts';
import { type AcceptPublish, createAcceptPublish, publish } from './backend/publish.ts';
import { cancelPublish, readPauses, readPublish } from './backend/publish-status.ts';
import {
  forgetUserPreferences,
  readUserPreferences,
  setUserPreferences,
} from './backend/user-preferences.ts';
import type { EndpointContext } from './context.ts';
import {
  deleteDevice,
  readDevice,
  readVapidKey,
  registerDevice,
  setMetadata,
  setToken,
} from './device/devices.ts';
import { addInterest, readInterests, removeInterest, setInterests } from './device/interests.ts';
import { readPreferences, setPreferences } from './device/preferences.ts';
import { report } from './device/report.ts';
import { setUser } from './device/set-user.ts';
import { InstanceRates } from './request-rate.ts';
import { readServiceWorker } from './sdk.ts';
import { StoreGuard, type StoreState } from './store-guard.ts';

type PushEndpointOptions = Omit<EndpointContext, 'guard' | 'taps' | 'backendRates' | 'shareRate'> &
  StoreState & { readonly shareRate?: ShareRate; readonly taps?: PushTaps };

/** What the push API does. */
interface PushEndpoints {
  readonly endpoints: Endpoints;
  /** Accepts a publish of an operator, under the same rules, limits and rates as one of a backend. */
  readonly acceptPublish: AcceptPublish;
}

/** Makes all endpoints of the push API. */
export function createPushEndpoints(options: PushEndpointOptions): PushEndpoints {
  const guard = new StoreGuard(options);
  const { now, shareRate = unshared, taps = noTaps } = options;
  const backendRates = new BackendRates(now, shareRate);
  const context = { ...options, guard, taps, backendRates, shareRate };
  // Publishes to interests and to users share one rate.
  const accept = createAcceptPublish(context, new InstanceRates('publishes', shareRate));
  const endpoints: Endpoints = {
    publishToInterests: publish(context, 'interests', accept),
    publishToUsers: publish(context, 'users', accept),
    readPublish: readPublish(context),
    cancelPublish: cancelPublish(context),
    readPauses: readPauses(context),
    explainDevice: explainDevice(context),
    createChannel: createChannel(context),
    listChannels: listChannels(context),
    deleteChannel: deleteChannel(context),
    deleteUser: deleteUser(context),
    readUserPreferences: readUserPreferences(context),
    setUserPreferences: setUserPreferences(context),
    forgetUserPreferences: forgetUserPreferences(context),
    importDevices: importDevices(context),
    exportDevices: exportDevices(context),
    readImport: readImport(context),
    undoImport: undoImport(context),
    readVapidKey: readVapidKey(context),
    registerDevice: registerDevice(context),
    readDevice: readDevice(context),
    deleteDevice: deleteDevice(context),
    setMetadata: setMetadata(context),
    setToken: setToken(context),
    setUser: setUser(context),
    readPreferences: readPreferences(context),
    setPreferences: setPreferences(context),
    readInterests: readInterests(context),
    setInterests: setInterests(context),
    addInterest: addInterest(context),
    removeInterest: removeInterest(context),
    report: report(context),
    readServiceWorker: readServiceWorker(context),
  };
  return {
    endpoints,
    acceptPublish: (instance, given) => accept(instance, given),
  };
}
