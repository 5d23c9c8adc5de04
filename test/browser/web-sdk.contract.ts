import { describe, expect, it } from 'bun:test';
import type { BeamsSite, PushService } from '../../testing/browsers/beams-page.ts';

/** A site in one browser, and the server that it uses. */
export interface OpenSite {
  readonly site: BeamsSite;
  readonly service: PushService;
}

/** The longest allowed name of an interest, with every allowed character. */
const LONGEST = '_-=@,.;AZaz09'.padEnd(164, 'x');

/** The tests of the official, unchanged web SDK with this server, for any browser. `open` is called in each test. */
export function webSdkContract(browser: string, open: () => OpenSite): void {
  /** The result of a method of the SDK's client. `call` is its name with arguments in parentheses. */
  const beams = async (call: string) => await open().site.run(`return await beams().${call}`);

  /** Registers a new device; returns its id. */
  const newDevice = async () => {
    await beams('clearAllState()');
    return String(await beams('getDeviceId()'));
  };

  const askForDevice = async (id: string) => {
    const { url, instance } = open().service;
    return await fetch(`${url}/device_api/v1/instances/${instance.id}/devices/web/${id}`);
  };
  const deviceOf = async (id: string) => (await (await askForDevice(id)).json()) as unknown;

  /** All interests, which the SDK reads page by page. */
  const interestPages = async () => {
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await beams(`getDeviceInterests(100, ${JSON.stringify(cursor ?? null)})`);
      const { interests, nextCursor } = page as { interests: string[]; nextCursor?: string };
      pages.push(interests);
      cursor = nextCursor;
    } while (cursor !== undefined);
    return pages;
  };

  describe(`the web SDK in ${browser}`, () => {
    it('registers the browser once, and keeps it when the page is reloaded', async () => {
      const id = await newDevice();
      expect(id).toMatch(/^web-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(await beams('getRegistrationState()')).toBe(
        'PERMISSION_GRANTED_REGISTERED_WITH_BEAMS',
      );
      expect(await beams('getUserId()')).toBeNull();
      expect(await deviceOf(id)).toMatchObject({ id, metadata: { sdkVersion: '2.1.0' } });

      await beams('start()');
      expect(await beams('getDeviceId()')).toBe(id);

      await open().site.reload();
      await beams('start()');
      expect(await beams('getDeviceId()')).toBe(id);
    });

    it('adds, reads, replaces and removes interests', async () => {
      await newDevice();
      expect(await beams('getDeviceInterests()')).toEqual({ interests: [] });

      await beams(`addDeviceInterest('${LONGEST}')`);
      await beams(`addDeviceInterest('donuts')`);
      await beams(`addDeviceInterest('donuts')`);
      expect((await interestPages()).flat().toSorted()).toEqual([LONGEST, 'donuts']);

      await beams(`removeDeviceInterest('${LONGEST}')`);
      await beams(`removeDeviceInterest('never-added')`);
      expect(await interestPages()).toEqual([['donuts']]);

      await beams(`setDeviceInterests(['apples', 'pears', 'apples'])`);
      expect((await interestPages()).flat().toSorted()).toEqual(['apples', 'pears']);

      await beams('clearDeviceInterests()');
      expect(await interestPages()).toEqual([[]]);
    });

    it('reads the maximum number of interests of a device in pages of 100', async () => {
      await newDevice();
      const names = Array.from({ length: 5000 }, (_, n) => `${n}-`.padEnd(LONGEST.length, 'x'));

      await beams(`setDeviceInterests(${JSON.stringify(names)})`);

      const pages = await interestPages();
      expect(pages.map(({ length }) => length)).toEqual(Array(50).fill(100));
      expect(pages.flat().toSorted()).toEqual(names.toSorted());
      await expect(beams(`addDeviceInterest('one-more')`)).rejects.toThrow(
        /^Unexpected status code 400: /,
      );
    });

    it('signs the user in with a token of the server SDK, repeatedly', async () => {
      const id = await newDevice();

      await beams(`setUserId('ann @ home/7 ü', tokenProvider)`);

      expect(open().site.signedIn.at(-1)).toBe('ann @ home/7 ü');
      expect(await beams('getUserId()')).toBe('ann @ home/7 ü');
      expect(await deviceOf(id)).toMatchObject({ id, userId: 'ann @ home/7 ü' });

      await open().site.reload();
      await beams('start()');
      expect(await beams('getUserId()')).toBe('ann @ home/7 ü');
      await beams(`setUserId('ann @ home/7 ü', tokenProvider)`);
      expect(await deviceOf(id)).toMatchObject({ id, userId: 'ann @ home/7 ü' });
    });

    it('gets an error for a wrong token', async () => {
      const id = await newDevice();
      for (const token of ['not a token', 'a.b.c']) {
        const provider = `{ fetchToken: async () => ({ token: '${token}' }) }`;
        await expect(beams(`setUserId('ann', ${provider})`)).rejects.toThrow(
          /^Unexpected status code 401: Unauthorized, /,
        );
      }
      expect(await beams('getUserId()')).toBeNull();
      expect(((await deviceOf(id)) as { userId?: unknown }).userId ?? null).toBeNull();
    });

    it('stops, which removes the device', async () => {
      const id = await newDevice();
      await beams(`setUserId('ann', tokenProvider)`);

      await beams('stop()');

      expect((await askForDevice(id)).status).toBe(404);
      expect([await beams('getDeviceId()'), await beams('getUserId()')]).toEqual([null, null]);
      expect(await beams('getRegistrationState()')).toBe(
        'PERMISSION_GRANTED_NOT_REGISTERED_WITH_BEAMS',
      );
      await expect(beams(`addDeviceInterest('donuts')`)).rejects.toThrow(/SDK not registered/);
    });

    it('clears all state and registers another device, without interests and user', async () => {
      const before = await newDevice();
      await beams(`addDeviceInterest('donuts')`);
      await beams(`setUserId('ann', tokenProvider)`);

      await beams('clearAllState()');

      const after = String(await beams('getDeviceId()'));
      expect(after).not.toBe(before);
      expect((await askForDevice(before)).status).toBe(404);
      expect(await interestPages()).toEqual([[]]);
      expect(await beams('getUserId()')).toBeNull();
      await beams(`setUserId('bob', tokenProvider)`);
      expect(await deviceOf(after)).toMatchObject({ userId: 'bob' });
    });

    it('has no device after the server SDK has deleted the user', async () => {
      const id = await newDevice();
      await beams(`setUserId('ann @ home/7 ü', tokenProvider)`);

      await open().site.library.deleteUser('ann @ home/7 ü');

      expect((await askForDevice(id)).status).toBe(404);
      await expect(beams(`addDeviceInterest('donuts')`)).rejects.toThrow(
        /^Unexpected status code 404: /,
      );
    });
  });
}
