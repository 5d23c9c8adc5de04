import { APP } from '../../../testing/servers/fanfare.ts';
import { LONG_CHANNEL, type Seed } from './seed.ts';

/**
 * A page below `/dashboard`, a text that is there once it has its data, and a text to wait for before something happens.
 * `{app}` and the like stand for ids of the seed.
 */
export type Row = readonly [path: string, text: string, first?: string];

/** Pages of a server that nobody has used. */
export const emptyPages: readonly Row[] = [
  ['', 'Connect this tab'],
  [`/apps/${APP.id}/live`, 'Connected and listening'],
  [`/apps/${APP.id}/channels`, 'No channel is in use'],
  [`/apps/${APP.id}/channels/lobby`, 'Nobody is subscribed'],
  [`/apps/${APP.id}/connections`, 'No client is connected'],
  [`/apps/${APP.id}/connections/1.2`, 'open connection 1.2'],
  [`/apps/${APP.id}/problems`, 'Nothing was refused since'],
  [`/apps/${APP.id}/webhooks`, 'This app has no webhook endpoint'],
  [`/apps/${APP.id}/webhooks/none`, 'There is no webhook none'],
  [`/apps/${APP.id}/usage`, 'No messages yet'],
  [`/apps/${APP.id}/keys`, APP.key],
  [`/apps/${APP.id}/settings`, 'This app is in the configuration file'],
  ['/apps/none/live', 'There is no app none'],
  ['/nodes', 'is the only server'],
  ['/log', 'lines, the newest at'],
  ['/no/such/page', 'There is no such page'],
];

/** Pages of a server that is in use, with names as long as they may be. */
export const fullPages: readonly Row[] = [
  ['', 'Großer Laden'],
  ['/audit', 'createApp'],
  ['/apps/{app}/live', 'received by nobody', 'Connected.'],
  ['/apps/{app}/channels', LONG_CHANNEL],
  [`/apps/{app}/channels/${LONG_CHANNEL}`, 'алиса'],
  ['/apps/{app}/channels/kept-news', 'A client gets after it'],
  ['/apps/{app}/channels/cache-scores', 'Cached event: order.updated'],
  ['/apps/{app}/channels/cache-answers', 'Value of answer: msg_1', 'growing'],
  ['/apps/{app}/connections', '{socket}'],
  ['/apps/{app}/connections/{socket}', LONG_CHANNEL],
  ['/apps/{app}/problems?channel=private-orders&socket={refused}', 'The client read too slowly'],
  ['/apps/{app}/send', 'Send an event as a backend would'],
  ['/apps/{app}/webhooks', 'fails: status 503'],
  ['/apps/{app}/webhooks/{webhook}', 'channel_occupied'],
  ['/apps/{app}/usage', 'Messages by day'],
  ['/apps/{app}/connect', 'From nothing to the first event'],
  ['/apps/{app}/keys', '{key}'],
  ['/apps/{app}/settings', 'Take it out of service'],
  ['/users/{user}?app={app}', '{socket}'],
  ['/push/{instance}/live', 'Connected and listening'],
  ['/push/{instance}/publishes', 'Nothing was published yet'],
  ['/push/{instance}/devices', 'No device'],
  ['/push/{instance}/devices/web-1', 'That is no device id'],
  ['/push/{instance}/compose', 'Send'],
  ['/push/{instance}/credentials', 'Browsers'],
  ['/push/{instance}/settings', 'Publishes per second'],
];

/** A path or text of a row with the ids of the seed. */
export function withIds(text: string, seed: Seed): string {
  const ids: Readonly<Record<string, string>> = {
    app: seed.app.id,
    key: seed.app.key,
    socket: seed.socket,
    webhook: seed.webhook,
    refused: seed.refused,
    instance: seed.instance,
    user: encodeURIComponent(seed.user),
  };
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => ids[name] ?? whole);
}
