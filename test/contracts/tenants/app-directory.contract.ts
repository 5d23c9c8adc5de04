import { describe, expect, it } from 'bun:test';
import type { App } from '../../../src/channels/app.ts';
import type { AppDirectory } from '../../../src/channels/ports.ts';
import { appWith } from '../values.ts';

/** An app directory that can be filled. */
interface Filled {
  readonly directory: AppDirectory;
  replace(apps: readonly App[]): void;
}

/** What the core expects of any app directory. */
export function appDirectoryContract(name: string, open: () => Filled): void {
  describe(`${name} keeps the app directory contract`, () => {
    const first = appWith({}, 'first');
    const pair = { key: 'second-key', secret: 's2' };

    it('finds an app by its id and by each of its keys', () => {
      const { directory, replace } = open();
      replace([{ ...first, keys: [...first.keys, pair] }]);
      expect(directory.byId('first')?.id).toBe('first');
      expect(directory.byKey('first-key')).toBe(directory.byId('first'));
      expect(directory.byKey('second-key')).toBe(directory.byId('first'));
      expect(directory.byKey('first')).toBeUndefined();
      expect(directory.byId('first-key')).toBeUndefined();
    });

    it('keeps the object of an app whose settings change', () => {
      const { directory, replace } = open();
      replace([first]);
      const held = directory.byId('first');
      replace([{ ...first, clientEvents: true }]);
      expect(directory.byId('first')).toBe(held);
      expect(held?.clientEvents).toBe(true);
    });

    it('forgets removed keys and deleted apps', () => {
      const { directory, replace } = open();
      replace([first, appWith({}, 'other')]);
      const held = directory.byId('other');
      replace([{ ...first, keys: [pair] }]);
      expect(directory.byKey('first-key')).toBeUndefined();
      expect(directory.byId('other')).toBeUndefined();
      expect(directory.byKey('other-key')).toBeUndefined();
      // Code that still holds it must find it unusable.
      expect(held?.enabled).toBe(false);
    });
  });
}
