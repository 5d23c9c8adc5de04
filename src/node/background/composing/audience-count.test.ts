import { describe, expect, it } from 'bun:test';
import { instanceSettings } from '../../../config/settings/push-settings.ts';
import type { AudienceSource } from '../../../push/audience-source.ts';
import type { CapUses } from '../../../push/cap-uses.ts';
import type { DeviceId, Recipient } from '../../../push/model/device.ts';
import { readDraft } from '../../../push/requests/publish-faults.ts';
import type { JsonObject } from '../../../runtime/json-object.ts';
import { pushInstance } from '../../../tenants/push-instance.ts';
import { countAudience } from './audience-count.ts';

const ID = '8f9a6e22-2483-49aa-8552-125f1a4c5781';
const NOW_MS = Date.parse('2026-07-01T12:00:00Z');

type Known = Partial<Pick<Recipient, 'platform' | 'kind'>> & Recipient['preferences'];

/** Counts the devices of a publish now. Those with the numbers of `full` have no room. */
async function counted(
  devices: readonly Known[],
  fields: JsonObject,
  { settings = {}, full = [] }: { settings?: object; full?: readonly number[] } = {},
) {
  const audience: AudienceSource = {
    numbers: async () => devices.map((_, index) => index + 1),
    recipients: async (_, numbers) =>
      numbers.map((number) => {
        const { platform = 'web', kind, ...preferences } = devices[number - 1] ?? {};
        return {
          number,
          id: `${platform}-${number}` as DeviceId,
          platform,
          kind,
          token: '',
          bundleId: undefined,
          userId: undefined,
          seenAtMs: 0,
          isTrusted: true,
          preferences,
        };
      }),
  };
  const caps: CapUses = {
    full: async (cap) => new Set(full.filter((number) => cap.devices.includes(number))),
    useOf: async () => undefined,
  };
  const parsed = instanceSettings.parse({ id: ID, secretKeys: ['A'.repeat(64)], ...settings });
  const draft = readDraft(
    'interests',
    { interests: ['a'], ...fields },
    {
      instanceId: ID,
      nowMs: NOW_MS,
      bodyBytes: 100,
    },
  );
  const { target, sendAtMs = NOW_MS } = draft;
  if (target === undefined) throw new Error('No target');
  const about = { ...draft, target, dueAtMs: sendAtMs };
  return await countAudience({ audience, caps }, pushInstance(parsed, 7), about);
}

const shown = { web: { notification: { title: 'Hi' } } };
const night = { from: '13:00', to: '15:00' };

describe('the devices of a preview', () => {
  it('are due now, after their quiet hours, or never', async () => {
    const devices = [
      {},
      { timeZone: 'Europe/Berlin', quietHours: night },
      { timeZone: 'UTC', quietHours: night },
      { timeZone: 'Europe/Berlin', quietHours: 'none' as const },
      { platform: 'fcm' as const, timeZone: 'Europe/Berlin', quietHours: night },
    ];
    const counts = { later: 1, quiet: 1, tooLate: 0, overCap: 0, languages: [], more: false };
    const platforms = { apns: 0, fcm: 1, web: 4 };
    expect(await counted(devices, shown)).toEqual({ devices: 5, platforms, ...counts });
    // A time to live that ends before.
    const short = { web: { ...shown.web, time_to_live: 60 } };
    const late = { ...counts, later: 0, quiet: 0, tooLate: 1 };
    expect(await counted(devices, short)).toEqual({
      devices: 4,
      platforms: { ...platforms, web: 3 },
      ...late,
    });
    expect(await counted(devices, { ...shown, urgent: true })).toMatchObject({ later: 0 });
  });

  it('are judged by the time at which it is sent', async () => {
    const devices = [{ timeZone: 'UTC', quietHours: night }, { timeZone: 'Asia/Tokyo' }];
    const at = { ...shown, sendAt: '2026-07-01T13:30:00Z' };
    expect(await counted(devices, at)).toMatchObject({ devices: 2, later: 1, quiet: 1 });
    const local = { ...shown, sendAtLocal: '2026-07-01T20:00' };
    expect(await counted(devices, local)).toMatchObject({ devices: 2, later: 1, quiet: 0 });
  });

  it('get nothing beyond the cap of the instance', async () => {
    const devices = [{}, {}, { platform: 'fcm' as const }];
    const settings = { cap: { notifications: 3, hours: 24 } };
    const full = [1, 3];
    const counts = { devices: 2, platforms: { apns: 0, fcm: 1, web: 1 }, overCap: 1 };
    expect(await counted(devices, shown, { settings, full })).toMatchObject(counts);
    const all = { devices: 3, overCap: 0 };
    expect(await counted(devices, shown, { full })).toMatchObject(all);
    const urgent = { ...shown, urgent: true };
    expect(await counted(devices, urgent, { settings, full })).toMatchObject(all);
  });

  it('get the text of their language, where something is shown', async () => {
    const devices = [
      { language: 'de-AT' },
      { language: 'de' },
      { language: 'pt' },
      { language: 'fr' },
      {},
      { platform: 'fcm' as const, language: 'de' },
    ];
    const texts = { de: { title: 'Hallo' }, pt: { body: 'Oi' }, es: { title: 'Hola' } };
    expect(await counted(devices, { ...shown, texts })).toMatchObject({
      languages: [
        { language: 'de', devices: 2 },
        { language: 'pt', devices: 1 },
      ],
    });
  });
});
