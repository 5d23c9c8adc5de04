import { call } from '../api/client.ts';
import { home } from '../api/root.ts';
import { pushOrigin } from '../api/server-facts.ts';

/** This browser as a device of a push instance. */
export interface BrowserDevice {
  readonly id: string;
  /** An interest that no other device has. */
  readonly interest: string;
  readonly endpoint: string;
}

const keptAs = (instance: string) => `fanfare.device.${instance}`;

/** Why this browser cannot be a device; `undefined` if it can. */
export function whyNoDevice(): string | undefined {
  if (!globalThis.isSecureContext) {
    return 'Browsers allow push only on https and on localhost. Open the dashboard there.';
  }
  if (!('serviceWorker' in navigator) || !('PushManager' in globalThis)) {
    return 'This browser has no web push, or has it switched off in this window.';
  }
  if (Notification.permission === 'denied') {
    return 'Notifications of this site are blocked in the settings of the browser.';
  }
  return undefined;
}

/** Returns this browser as a device, if it is still registered. */
export async function knownDevice(instance: string): Promise<BrowserDevice | undefined> {
  const kept = localStorage.getItem(keptAs(instance));
  if (kept === null || whyNoDevice() !== undefined) return undefined;
  const device = JSON.parse(kept) as BrowserDevice;
  const registration = await navigator.serviceWorker.getRegistration(`${home}/`);
  const subscription = await registration?.pushManager.getSubscription();
  // Another call may have removed the device while this one waited.
  const isKept = localStorage.getItem(keptAs(instance)) === kept;
  return isKept && subscription?.endpoint === device.endpoint ? device : undefined;
}

/** Asks for the permission, subscribes, and registers this browser. Throws errors with messages for people. */
export async function becomeDevice(instance: string): Promise<BrowserDevice> {
  if ((await Notification.requestPermission()) !== 'granted') {
    throw new Error('The browser did not allow notifications.');
  }
  const { web } = await call('GET /instances/{id}', { path: { id: instance } });
  if (web === undefined) throw new Error('The instance has no web push.');
  const registration = await navigator.serviceWorker.register(workerUrl());
  await navigator.serviceWorker.getRegistration(`${home}/`);
  await activated(registration);
  const { pushManager } = registration;
  // A browser has one subscription here, with the key of one instance.
  await (await pushManager.getSubscription())?.unsubscribe();
  const subscription = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytesOf(web.vapid.publicKey),
  });
  const token = btoa(JSON.stringify(subscription));
  const { id } = (await ask(instance, 'POST', 'devices/web', { token })) as { id: string };
  const interest = `browser-${crypto.randomUUID()}`;
  await ask(instance, 'POST', `devices/web/${id}/interests/${interest}`);
  await keepForWorker(instance, id);
  const device = { id, interest, endpoint: subscription.endpoint };
  localStorage.setItem(keptAs(instance), JSON.stringify(device));
  return device;
}

/** Ends the subscription, and removes the device. */
export async function leaveDevice(instance: string, { id }: BrowserDevice): Promise<void> {
  localStorage.removeItem(keptAs(instance));
  await ask(instance, 'DELETE', `devices/web/${id}`);
  endSubscription().catch(() => {
    // Without the device, the subscription is of no use.
  });
}

/** Nobody waits for it: the browser may not reach its push service. */
async function endSubscription(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration(`${home}/`);
  const subscription = await registration?.pushManager.getSubscription();
  await subscription?.unsubscribe();
}

/** Waits until the browser shows the notification of a publish. Returns how long that took, if it was shown. */
export async function shownAfter(
  publishId: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const sinceMs = performance.now();
  const registration = await navigator.serviceWorker.getRegistration(`${home}/`);
  while (!signal.aborted && registration !== undefined) {
    const shown = await registration.getNotifications();
    const isThere = shown.some(({ data }) => data?.pusher?.pusherMetadata?.publishId === publishId);
    if (isThere) return performance.now() - sinceMs;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return undefined;
}

/** With Trusted Types, a page must name what makes the addresses of its scripts. */
function workerUrl(): string {
  const url = `${home}/device-worker.js`;
  const { trustedTypes } = globalThis as unknown as {
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(url: string): string },
      ): { createScriptURL(url: string): string };
    };
  };
  const policy = trustedTypes?.createPolicy('device-worker', {
    createScriptURL: (given) => given,
  });
  return policy?.createScriptURL(url) ?? url;
}

async function activated({ installing, waiting }: ServiceWorkerRegistration): Promise<void> {
  const worker = installing ?? waiting;
  if (worker === null || worker.state === 'activated') return;
  await new Promise<void>((resolve) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated' || worker.state === 'redundant') resolve();
    });
  });
}

/** Asks the push API, as the SDK of the page does. */
async function ask(
  instance: string,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const url = `${pushOrigin()}/device_api/v1/instances/${instance}/${path}`;
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(10_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Error(
      `The push listener cannot be reached from this browser at ${pushOrigin()}. If it has another address, set push.publicUrl.`,
    );
  }
  const text = await response.text();
  if (response.ok) return text === '' ? undefined : JSON.parse(text);
  throw new Error(`The push listener answers ${response.status}: ${text.slice(0, 200)}`);
}

/** The worker reads there what the SDK of a page would keep. */
async function keepForWorker(instance: string, deviceId: string): Promise<void> {
  const opening = indexedDB.open(`beams-${instance}`);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore('beams', { keyPath: 'instance_id' });
  };
  const database = await resultOf(opening);
  const store = database.transaction('beams', 'readwrite').objectStore('beams');
  await resultOf(store.put({ instance_id: instance, device_id: deviceId }));
  database.close();
}

function resultOf<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function bytesOf(key: string): Uint8Array<ArrayBuffer> {
  const text = atob(key.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
