import { expect, it } from 'bun:test';
import { shownInstance } from './shown-instance.ts';

const instance = {
  id: '8f9a6e22-2483-49aa-8552-125f1a4c5781',
  name: 'shop',
  secretKeys: ['SECRET-KEY-OF-A-BACKEND'],
  settings: {
    apns: { teamId: 'TEAM', keyId: 'KEY', privateKey: 'KEY-OF-APPLE' },
    fcm: { serviceAccount: 'ACCOUNT-OF-GOOGLE' },
    web: {
      vapid: { publicKey: 'PUBLIC', privateKey: 'KEY-OF-VAPID', subject: 'mailto:a@b.example' },
    },
  },
};

it.each([
  ['none', ['PUBLIC']],
  ['keys', ['PUBLIC', 'SECRET-KEY-OF-A-BACKEND']],
  ['all', ['PUBLIC', 'SECRET-KEY-OF-A-BACKEND', 'KEY-OF-VAPID']],
] as const)(
  'shows of an instance with the secrets %s only %j, and never what vendors gave',
  (secrets, shown) => {
    const text = JSON.stringify(shownInstance(instance, secrets));
    const all = [
      'PUBLIC',
      'SECRET-KEY-OF-A-BACKEND',
      'KEY-OF-VAPID',
      'KEY-OF-APPLE',
      'ACCOUNT-OF-GOOGLE',
    ];
    expect(all.filter((one) => text.includes(one))).toEqual([...shown]);
    expect(text).toContain('"keyId":"KEY"');
  },
);
