import { APP } from '../../../testing/servers/fanfare.ts';
import { LONG_CHANNEL, type Seed } from './seed.ts';

/** A page below `/dashboard`, a text that is there once it has its data, and a text to wait for before something happens. */
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
export const fullPages = ({
  app,
  socket,
  webhook,
  refused,
  instance,
  user,
}: Seed): readonly Row[] => {
  const inApp = (path: string) => `/apps/${app.id}/${path}`;
  return [
    ['', 'Großer Laden'],
    ['/audit', 'createApp'],
    [inApp('live'), '0 heard', 'Connected.'],
    [inApp('channels'), LONG_CHANNEL],
    [inApp(`channels/${LONG_CHANNEL}`), 'алиса'],
    [inApp('channels/kept-news'), 'A client gets after it'],
    [inApp('channels/cache-scores'), 'Cached event: order.updated'],
    [inApp('connections'), socket],
    [inApp(`connections/${socket}`), LONG_CHANNEL],
    [inApp(`problems?channel=private-orders&socket=${refused}`), 'The client read too slowly'],
    [inApp('send'), 'Send an event as a backend would'],
    [inApp('webhooks'), 'fails: status 503'],
    [inApp(`webhooks/${webhook}`), 'channel_occupied'],
    [inApp('usage'), 'Messages by day'],
    [inApp('connect'), 'From nothing to the first event'],
    [inApp('keys'), app.key],
    [inApp('settings'), 'Take it out of service'],
    [`/users/${encodeURIComponent(user)}?app=${app.id}`, socket],
    [`/push/${instance}/live`, 'Connected and listening'],
    [`/push/${instance}/publishes`, 'Nothing was published yet'],
    [`/push/${instance}/devices`, 'No device'],
    [`/push/${instance}/devices/web-1`, 'That is no device id'],
    [`/push/${instance}/compose`, 'Send'],
    [`/push/${instance}/credentials`, 'Browsers'],
    [`/push/${instance}/settings`, 'Publishes per second'],
  ];
};
