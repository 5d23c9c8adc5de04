import { PushConnection, PushRequests } from '../../../testing/clients/push-requests.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import type { KnownDevice, Site } from './site.ts';

const requests = new PushRequests();

/** What a restarted server has lost of what it had answered to a site, or has changed without a request. */
export async function lostOf(
  site: Site,
  server: Pick<Fanfare, 'pushPort'>,
): Promise<readonly string[]> {
  await using connection = await PushConnection.open(server);
  const lost: string[] = [];
  for (const { publishId, sendAtMs } of site.publishes) {
    if (publishId === undefined) continue;
    const { status, json } = await connection.request(requests.readPublish(publishId));
    const kept = typeof json['sendAt'] === 'string' ? Date.parse(json['sendAt']) : undefined;
    if (status !== 200 || kept !== sendAtMs) {
      lost.push(`publish ${publishId}: ${status}, sendAt ${json['sendAt']}`);
    }
  }
  for (const device of site.devices) {
    const found = await stateOf(device, connection);
    const possible = [device.state, ...(device.doubt === undefined ? [] : [device.doubt])];
    if (!possible.some((state) => Bun.deepEquals(state, found))) {
      lost.push(`device ${device.id}: ${JSON.stringify({ found, possible })}`);
    }
  }
  return [...lost, ...site.strangers];
}

async function stateOf({ id }: KnownDevice, connection: PushConnection): Promise<unknown> {
  const device = await connection.request(requests.readDevice(id));
  const page = await connection.request(requests.readInterests(id));
  if (device.status === 404 && page.status === 404) return 'gone';
  return { interests: page.json['interests'], userId: device.json['userId'] };
}
