/*
 * Browsers replace a push subscription from time to time. Without this, the SDK in the page would take the browser for
 * signed out, and clear its state; with it, the device keeps its id, interests and user.
 */

self.addEventListener('pushsubscriptionchange', (changeEvent) => {
  changeEvent.waitUntil(moveDevices(changeEvent));
});

/** Moves the devices of the old subscription to the new one: one for each instance that the site uses. */
async function moveDevices({ oldSubscription, newSubscription }) {
  const { pushManager } = self.registration;
  let subscription = newSubscription ?? (await pushManager.getSubscription());
  for (const device of await readDevices()) {
    if (oldSubscription && isOfAnother(device, oldSubscription)) continue;
    try {
      const applicationServerKey =
        oldSubscription?.options?.applicationServerKey ?? (await readServerKey(device));
      subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
      if (isOfKey(subscription, applicationServerKey)) await moveDevice(device, subscription);
    } catch (error) {
      console.warn('A device did not get its new subscription', error);
    }
  }
}

/** The devices of all instances, as the SDK in the page has stored them. */
async function readDevices() {
  const databases = (await indexedDB.databases?.()) ?? [];
  const ids = databases.flatMap(({ name }) => /^beams-(.+)$/.exec(name)?.[1] ?? []);
  const read = await Promise.allSettled(ids.map(readDevice));
  return read.flatMap(({ value }) => (value?.device_id ? value : []));
}

/** First the server, then the database: the SDK must not take a device for moved that is not. */
async function moveDevice({ instance_id, device_id }, subscription) {
  // In the form of the SDK, which compares the texts.
  const token = btoa(JSON.stringify(subscription));
  const answer = await fetchJson(
    `${deviceApi(instance_id)}/devices/web/${device_id}/token`,
    'PUT',
    {
      token,
    },
  );
  if (!answer.ok) throw new Error(`Status ${answer.status}`);
  await withDevices(instance_id, 'readwrite', async (devices) => {
    const device = await resultOf(devices.get(instance_id));
    // The page may have registered another one in between.
    if (device?.device_id === device_id) await resultOf(devices.put({ ...device, token }));
  });
}

/** The key that browsers subscribe with, in URL-safe base64. */
async function readServerKey({ instance_id }) {
  const answer = await fetchJson(`${deviceApi(instance_id)}/web-vapid-public-key`, 'GET');
  if (!answer.ok) throw new Error(`Status ${answer.status}`);
  return (await answer.json()).vapidPublicKey;
}

function deviceApi(instanceId) {
  return `${serverUrl()}/device_api/v1/instances/${encodeURIComponent(instanceId)}`;
}

/** Whether a device has another subscription: a site may have several workers. */
function isOfAnother({ token }, { endpoint }) {
  try {
    return JSON.parse(atob(token)).endpoint !== endpoint;
  } catch {
    // Not from the SDK: the server says whether it knows the device.
    return false;
  }
}

/** Whether a subscription was made with a key. Not every browser says it. */
function isOfKey({ options }, key) {
  const made = options?.applicationServerKey;
  return !made || base64Url(made) === (isText(key) ? key : base64Url(key));
}

function base64Url(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
