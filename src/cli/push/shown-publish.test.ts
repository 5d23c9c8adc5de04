import { describe, expect, it } from 'bun:test';
import { describeStatus, publishPauses, publishStatus } from './shown-publish.ts';

const NONE = {
  planned: 0,
  accepted: 0,
  retrying: 0,
  failed: 0,
  pruned: 0,
  expired: 0,
  cancelled: 0,
};

const status = publishStatus.parse({
  publishId: 'pubid-1',
  state: 'delivering',
  createdAt: '2026-11-21T12:00:00.000Z',
  sendAt: null,
  platforms: { apns: { ...NONE, planned: 1234 }, fcm: NONE, web: { ...NONE, planned: 3 } },
  delivered: 0,
  opened: 0,
  reasons: [{ platform: 'apns', reason: 'InvalidProviderToken', devices: 1234 }],
});

const { pauses } = publishPauses.parse({
  publishId: 'pubid-1',
  pauses: [
    {
      platform: 'apns',
      origin: null,
      why: 'credential',
      reason: 'InvalidProviderToken',
      words: '',
      since: '2026-11-21T12:03:00.000Z',
      devices: 1234,
    },
    {
      platform: 'web',
      origin: 'https://push.example',
      why: 'gateway',
      reason: 'http-503',
      words: 'Down\u001b[31m',
      since: '2026-11-21T12:04:00.000Z',
      devices: null,
    },
  ],
});

describe('the status of a publish in words', () => {
  it.each([
    [
      'done',
      '2 of 4 users got it in the app, 1 did not answer, 1 had no connection; 3 connections asked',
    ],
    ['asking', '4 users are being asked whether they got it in the app'],
    ['scheduled', '4 users will be asked when it is due'],
    ['skipped', 'nobody was asked (over-quota), so everybody gets the notification'],
  ])('describes its result in the app when that is %s', (state, words) => {
    const why = state === 'skipped' ? 'over-quota' : null;
    const counts = { users: 4, reached: 2, silent: 1, absent: 1, connections: 3 };
    const live = { state, push: 'absent', ...counts, why };
    const shown = describeStatus({ ...status, live }, { pauses: [], instanceId: 'an-instance' });
    expect(shown).toContain(`\n  in the app ${words}\n`);
  });

  it('names the open circuits that it waits for, since when and why', () => {
    const lines = describeStatus(status, { pauses, instanceId: 'an-instance' }).split('\n');
    const from = lines.indexOf('Paused, except for occasional probes:');
    expect(lines[from + 1]).toMatch(
      /^ {2}apns since 2026-11-21T12:03:00\.000Z: .*\(InvalidProviderToken\); 1234 devices wait$/,
    );
    expect(lines[from + 2]).toStartWith('    → Compare `apns.teamId`');
    expect(lines[from + 3]).toMatch(
      /^ {2}web, https:\/\/push\.example since 2026-11-21T12:04:00\.000Z: .*\(http-503\)/,
    );
    expect(lines[from + 3]).not.toContain('devices');
    expect(lines.join('\n')).not.toContain('\u001b');
  });

  it('does not mention circuits if none is open', () => {
    expect(describeStatus(status, { pauses: [], instanceId: 'an-instance' })).not.toContain(
      'Paused',
    );
  });
});
