import { describe, expect, it } from 'bun:test';
import { appSettings } from '../config/settings/channels-settings.ts';
import { MemoryAppDirectory } from './app-directory.ts';

const appWith = (...keys: readonly string[]) =>
  appSettings.parse({ id: '1', keys: keys.map((key) => ({ key, secret: 's' })) });

describe('the last uses of the keys of an app', () => {
  const used = () => {
    const apps = new MemoryAppDirectory({ now: () => 7 });
    apps.replace([appWith('old')]);
    apps.byKey('old')?.keyUses?.of('old')?.note('request');
    return apps;
  };
  const lastRequest = (apps: MemoryAppDirectory) =>
    apps.byId('1')?.keyUses?.of('old')?.shown('old').lastAtMs.request;

  it('stay when its settings or the configuration change', () => {
    const apps = used();
    apps.replace([appWith('old', 'new')]);
    expect(lastRequest(apps)).toBe(7);
  });

  it('are not those of an earlier app with its id', () => {
    const apps = used();
    apps.replace([appWith('old')], ['1']);
    expect(apps.byId('1')?.keyUses?.of('old')).toBeDefined();
    expect(lastRequest(apps)).toBeUndefined();
  });
});
