/*
 * Says the language and the time zone of the browser to the server, for texts in several languages and local times. What the
 * app has said itself stays until the browser has another language or zone.
 */

/** Sends what has changed since this worker sent it last. Never rejects: a notification does not depend on it. */
// biome-ignore lint/correctness/noUnusedVariables: called by `beams-worker.js`, which is before it in the same function.
async function sendPreferences(statePromise) {
  // A state that cannot be read has its warning already, with the report.
  const { instanceId, deviceId: id } = (await statePromise.catch(() => undefined)) ?? {};
  if (!id) return;
  try {
    const now = { language: navigator.language, timeZone: timeZoneOfBrowser() };
    const sent = await withSent('readonly', (all) => resultOf(all.get(id)));
    if (sent && Object.keys(now).every((name) => sent[name] === now[name])) return;

    const url = `${deviceApi(instanceId)}/devices/web/${id}/preferences`;
    const before = sent ?? (await readKnown(url, now));
    const changes = Object.fromEntries(
      Object.entries(now).filter(([name, value]) => value && before[name] !== value),
    );
    if (Object.keys(changes).length > 0) {
      const answer = await fetchJson(url, 'PUT', changes);
      if (!answer.ok) throw new Error(`Status ${answer.status}`);
    }
    await withSent('readwrite', (all) => resultOf(all.put({ device_id: id, ...now })));
  } catch (error) {
    console.warn('The language and the time zone were not sent', error);
  }
}

/** The first time: what the server knows already counts as sent, so that it stays. */
async function readKnown(url, now) {
  const answer = await fetchJson(url, 'GET');
  if (!answer.ok) throw new Error(`Status ${answer.status}`);
  const known = await answer.json();
  return Object.fromEntries(Object.keys(now).map((name) => [name, known[name] && now[name]]));
}

function timeZoneOfBrowser() {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Opens the database of this worker for one transaction. */
function withSent(mode, use) {
  return withStore({ database: 'fanfare', store: 'preferences', keyPath: 'device_id', mode }, use);
}
