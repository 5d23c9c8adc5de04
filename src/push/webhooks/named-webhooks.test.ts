import { describe, expect, it } from 'bun:test';
import type { InstanceWebhook } from '../model/instance.ts';
import { nameWebhooks } from './named-webhooks.ts';

const INSTANCE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';
const webhook = (url: string, more: Partial<InstanceWebhook> = {}): InstanceWebhook => ({
  url,
  events: ['v1.UserNotificationOpen'],
  secret: 's',
  customData: {},
  ...more,
});
const ids = (webhooks: readonly InstanceWebhook[], instance = INSTANCE) =>
  nameWebhooks(instance, webhooks).map(({ id }) => id);

describe('the id of a webhook', () => {
  it('stays the same unless its URL changes', () => {
    const [id] = ids([webhook('https://a.test/')]);
    const changed = webhook('https://a.test/', {
      events: ['v1.PublishToUsersAttempt'],
      secret: 'another',
      customData: { a: 1 },
    });
    expect(ids([webhook('https://b.test/'), changed])[1]).toBe(id);
  });

  it('is unique, also if several have one URL', () => {
    const all = ids([webhook('https://a.test/'), webhook('https://a.test/'), webhook('https://b')]);
    expect(new Set(all).size).toBe(3);
  });

  it('differs between instances', () => {
    const webhooks = [webhook('https://a.test/')];
    expect(ids(webhooks)).not.toEqual(ids(webhooks, INSTANCE.replace('6', '7')));
  });
});
