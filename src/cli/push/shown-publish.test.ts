import { describe, expect, it } from 'bun:test';
import { describeStatus, publishStatus } from './shown-publish.ts';

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
  id: 'pubid-1',
  state: 'delivering',
  createdAtMs: Date.UTC(2026, 10, 21, 12),
  sendAtMs: null,
  platforms: { apns: { ...NONE, planned: 1234 }, fcm: NONE, web: { ...NONE, planned: 3 } },
  live: null,
  rule: null,
  delivered: 0,
  opened: 0,
  reasons: [],
  pauses: [
    {
      platform: 'apns',
      origin: null,
      sinceMs: Date.UTC(2026, 10, 21, 12, 3),
      devices: 1234,
      why: 'APNs refuses the key (InvalidProviderToken)',
      advice: 'Compare `apns.teamId`.',
    },
    {
      platform: 'web',
      origin: 'https://push.example',
      sinceMs: Date.UTC(2026, 10, 21, 12, 4),
      devices: null,
      why: 'it fails (http-503). It said: "Down\u001b[31m"',
      advice: null,
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
    [
      'skipped',
      'nobody was asked (the app has used up its messages), so everybody gets the notification\n    → Raise its limit.',
    ],
  ])('describes its result in the app when that is %s', (state, words) => {
    const cause =
      state === 'skipped'
        ? { why: 'the app has used up its messages', advice: 'Raise its limit.' }
        : { why: null, advice: null };
    const counts = { users: 4, reached: 2, silent: 1, absent: 1, connections: 3 };
    const live = { state, push: 'absent', ...counts, ...cause };
    const shown = describeStatus({ ...status, live }, 'an-instance');
    expect(shown).toContain(`\n  in the app ${words}\n`);
  });

  it('names the open circuits that it waits for, since when and why', () => {
    const lines = describeStatus(status, 'an-instance').split('\n');
    const from = lines.indexOf('Paused, except for occasional probes:');
    expect(lines.slice(from + 1, from + 4)).toEqual([
      '  apns since 2026-11-21T12:03:00.000Z: APNs refuses the key (InvalidProviderToken); 1234 devices wait',
      '    → Compare `apns.teamId`.',
      expect.stringMatching(
        /^ {2}web, https:\/\/push\.example since 2026-11-21T12:04:00\.000Z: it fails/,
      ),
    ]);
    expect(lines[from + 3]).not.toContain('devices');
    expect(lines.join('\n')).not.toContain('\u001b');
  });

  it('does not mention circuits if none is open', () => {
    expect(describeStatus({ ...status, pauses: [] }, 'an-instance')).not.toContain('Paused');
  });
});
