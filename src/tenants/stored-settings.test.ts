import { expect, it } from 'bun:test';
import { appSettings } from '../config/settings/channels-settings.ts';
import { readStored } from './stored-settings.ts';

const app = { id: '1', keys: [{ key: 'a-key', secret: 'a-secret' }] };
const webhook = { url: 'https://a.example/', events: ['member_added'] };

it('leaves out settings that this version does not know, and names them', () => {
  const read = readStored(appSettings, {
    ...app,
    clientEvents: true,
    rooms: { most: 3 },
    limits: { connections: 5, rooms: 7 },
    webhooks: [{ ...webhook, onlyFor: 'news' }],
  });
  expect(read).toMatchObject({
    settings: { clientEvents: true, limits: { connections: 5 }, webhooks: [webhook] },
    unknown: ['limits.rooms', 'webhooks[0].onlyFor', 'rooms'],
  });
  expect(JSON.stringify('settings' in read && read.settings)).not.toContain('rooms');
});

it('leaves out types of events that it does not know, and a webhook that asks for no others', () => {
  const webhooks = [
    { ...webhook, events: ['room_full', 'member_removed'] },
    { ...webhook, events: ['room_full'] },
    webhook,
  ];
  expect(readStored(appSettings, { ...app, webhooks })).toMatchObject({
    settings: { webhooks: [{ events: ['member_removed'] }, webhook] },
    unknown: ['webhooks[0].events[0]', 'webhooks[1].events[0]', 'webhooks[1]'],
  });
});

it.each([
  [{ clientEvents: 'perhaps' }, 'clientEvents: must be true or false, got a string'],
  [{ limits: { connections: -1 } }, 'limits.connections: must'],
  [{ webhooks: [{ url: 'https://a.example/', events: [] }] }, 'webhooks[0].events: must'],
  [{ keys: [] }, 'keys: must'],
])('refuses %j, which no version could have meant', (settings, why) => {
  expect(readStored(appSettings, { ...app, rooms: 1, ...settings })).toEqual({
    why: expect.stringContaining(why),
  });
});
