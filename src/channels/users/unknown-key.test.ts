import { describe, expect, it } from 'bun:test';
import { issuedToken, newIssuerKey } from '../../../testing/servers/token-issuer.ts';
import { readKeySet } from '../../runtime/tokens/key-set.ts';
import { answer } from '../answer.ts';
import type { App } from '../app.ts';
import { appWith, hubWith, sessionOf, settled } from '../hub.fixture.ts';
import { disconnect } from '../subscribing/subscribe.ts';
import { KeysUnavailable } from './presented-user.ts';

/** Tokens that wait until the key set of their issuer is fetched. Source: identity, §3.4. */

const URL = 'https://issuer.example.com/jwks';
const GRANTS = {
  ...{ channels: {}, leewaySeconds: 0, jwksUrl: URL, publicKeys: [] },
  ...{ issuer: 'https://login.example.com/', audience: 'https://ws.example.com' },
  ...{ channelsClaim: 'channels', userClaim: 'sub' },
} as const;
const key = newIssuerKey('ES256', 'a');
const set = readKeySet(
  Buffer.from(JSON.stringify({ keys: [{ ...key.publicKey.export({ format: 'jwk' }), kid: 'a' }] })),
);
const keySet = { url: URL, keys: set.ok ? set.keys : [], version: 1 };
const token = (kid = 'a') =>
  issuedToken({ ...key, kid }, { channels: { 'private-x': ['subscribe'] } });

/** `fetchesMax`: how often the key set may be asked for. */
function stage(known?: App['keySet'], fetchesMax = 1) {
  const app: { -readonly [K in keyof App]: App[K] } = { ...appWith({ grants: GRANTS }) };
  app.keySet = known;
  const fetches: PromiseWithResolvers<void>[] = [];
  let asked = 0;
  const hub = {
    ...hubWith(),
    keySets: {
      refresh() {
        asked += 1;
        if (asked > fetchesMax) return undefined;
        const fetch = Promise.withResolvers<void>();
        fetches.push(fetch);
        return fetch.promise;
      },
    },
  };
  hub.clock.setBack(hub.clock.now() - Date.now());
  const session = sessionOf(app);
  const subscribes = (auth: string) =>
    answer(hub, session, {
      type: 'subscribe',
      channel: 'private-x',
      auth,
      channelData: undefined,
    });
  const signsIn = (auth: string) =>
    answer(hub, session, { type: 'signin', auth, userData: undefined });
  const fetched = async (found: App['keySet']) => {
    app.keySet = found;
    fetches.shift()?.resolve();
    await settled();
  };
  return { app, hub, session, subscribes, signsIn, fetched, fetches };
}

describe('a token with an unknown key', () => {
  it('signs in once the key set is there', async () => {
    const { session, signsIn, fetched } = stage({ url: URL, keys: [], version: 1 });
    const over = signsIn(token());
    await settled();
    expect(session.peer.received()).toEqual([]);
    await fetched(keySet);
    await over;
    expect(session.peer.received()).toEqual(['pusher:signin_success']);
  });

  it('waits for a second fetch if the first one began before the key was published, and for no third', async () => {
    const { session, signsIn, fetched, fetches } = stage({ url: URL, keys: [], version: 1 }, 9);
    const over = signsIn(token());
    await fetched({ url: URL, keys: [], version: 2 });
    expect(session.peer.received()).toEqual([]);
    await fetched(keySet);
    await over;
    expect(session.peer.received()).toEqual(['pusher:signin_success']);
    const refused = signsIn(token('b'));
    await fetched(keySet);
    await fetched(keySet);
    await refused;
    expect(session.peer.received()).toEqual(['pusher:error']);
    expect(fetches).toEqual([]);
  });

  it('is verified at once if the key is known', () => {
    const { session, signsIn, fetches } = stage(keySet);
    void signsIn(token());
    expect(session.peer.received()).toEqual(['pusher:signin_success']);
    expect(fetches).toEqual([]);
  });

  it('is refused if the key set does not have it, and counts once', async () => {
    const { hub, session, subscribes, fetched, fetches } = stage(keySet);
    const over = subscribes(token('b'));
    await fetched(keySet);
    await over;
    expect(session.peer.received()).toEqual(['pusher:error', 'pusher:subscription_error']);
    expect(fetches).toEqual([]);
    expect(hub.counted.filter((counter) => counter === 'tokens')).toHaveLength(1);
  });

  it('is refused at once if the key set was asked for just before', () => {
    const { session, signsIn } = stage(keySet, 0);
    void signsIn(token('b'));
    expect(session.peer.received()).toEqual(['pusher:error']);
  });

  it('ends the connection if no keys are known', async () => {
    const { session, signsIn, subscribes, fetched } = stage(undefined, 2);
    for (const presents of [signsIn, subscribes]) {
      const ended = Promise.resolve(presents(token())).catch((error: unknown) => error);
      await fetched({ url: URL, keys: undefined, version: 1 });
      await fetched({ url: URL, keys: undefined, version: 1 });
      expect(await ended).toBeInstanceOf(KeysUnavailable);
    }
    expect(session.peer.received()).toEqual([]);
  });

  it.each(['signsIn', 'subscribes'] as const)(
    'does nothing if the connection has closed meanwhile: %s',
    async (presents) => {
      const staged = stage();
      const { app, hub, session, fetched } = staged;
      let signIns = 0;
      hub.authority.signIn = () => {
        signIns += 1;
        return true;
      };
      const over = staged[presents](token());
      await disconnect(hub, session);
      await fetched(keySet);
      await over;
      expect(session.peer.received()).toEqual([]);
      expect(signIns).toBe(0);
      expect(hub.sessions.has(app, 'ann')).toBe(false);
      expect(session.subscriptionCount).toBe(0);
    },
  );

  it('is refused if the app takes no tokens any more', async () => {
    const { app, session, signsIn, fetched } = stage();
    const over = signsIn(token());
    app.grants = undefined;
    await fetched(undefined);
    await over;
    expect(session.peer.received()).toEqual(['pusher:error']);
  });
});

it('costs frames for each public key that does not fit', () => {
  const other = newIssuerKey('ES256', 'a');
  const { session, signsIn } = stage(keySet);
  void signsIn(issuedToken(other));
  expect(session.frameDebt).toBe(100);
});
