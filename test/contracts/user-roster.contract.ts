import { describe, expect, it } from 'bun:test';
import type { UserRoster } from '../../src/channels/ports.ts';
import { appWith } from './values.ts';

/** What the core expects of any user roster. `open` gives an empty one. */
export function userRosterContract(name: string, open: () => Promise<UserRoster>): void {
  describe(`${name} keeps the user roster contract`, () => {
    const app = appWith({});

    it("returns true for a user's first and last connection only", async () => {
      const users = await open();
      expect(await users.signIn(app, 'ann')).toBe(true);
      expect(await users.signIn(app, 'ann')).toBe(false);
      expect(await users.signOut(app, 'ann')).toBe(false);
      expect(await users.signOut(app, 'ann')).toBe(true);
      expect(await users.signIn(app, 'ann')).toBe(true);
    });

    it('knows which of many users are online', async () => {
      const users = await open();
      await users.signIn(app, 'ann');
      await users.signIn(app, 'bob');
      await users.signOut(app, 'bob');
      expect(await users.online(app, ['ann', 'bob', 'eve'])).toEqual(new Set(['ann']));
      expect(await users.online(app, [])).toEqual(new Set());
    });

    it('keeps the users of different apps apart', async () => {
      const users = await open();
      await users.signIn(app, 'ann');
      expect(await users.online(appWith({}, 'other'), ['ann'])).toEqual(new Set());
      expect(await users.signIn(appWith({}, 'other'), 'ann')).toBe(true);
    });
  });
}
