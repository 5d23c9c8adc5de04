import { beforeEach, describe, expect, it } from 'bun:test';
import { appWith, channelName, FakeClock, sessionOf } from '../hub.fixture.ts';
import { ConnectionGrants } from './connection-grants.ts';
import type { Grant } from './grant.ts';
import { type Revocation, Revocations } from './revocations.ts';
import { endAfterRefusal, endsByRevocation } from './revoked-connections.ts';

/** Source: identity, §3.6. */

const app = appWith({
  grants: {
    channels: { 'private-user-{user}': ['subscribe'] },
    leewaySeconds: 30,
    jwksUrl: null,
    publicKeys: [],
    issuer: null,
    audience: null,
    channelsClaim: 'channels',
    userClaim: 'sub',
  },
});
const CHANNEL = channelName('private-a');
const OF_USER = channelName('private-user-ann');
const FOREVER = Number.POSITIVE_INFINITY;

let clock: FakeClock;
let revocations: Revocations;
let grants: ConnectionGrants;
beforeEach(() => {
  clock = new FakeClock();
  revocations = new Revocations(clock);
  grants = new ConnectionGrants();
});

const seconds = () => Math.floor(clock.now() / 1000);

function grant(more: Partial<Grant> = {}): Grant {
  const pattern = { kind: 'private', text: 'private-a', isBeginning: true } as const;
  const patterns = [{ ...pattern, rights: new Set(['subscribe'] as const) }];
  const origin = { userId: 'ann', issuedAtSeconds: seconds() - 10 };
  return { patterns, endsAtMs: FOREVER, by: 'token', ...origin, ...more };
}

function revoke(more: Partial<Revocation> = {}): void {
  const revoked = { appId: app.id, kind: 'user', name: 'ann' } as const;
  const times = { issuedBefore: seconds(), revokedAtMs: clock.now() };
  revocations.add([{ ...revoked, ...times, ...more }]);
}

/** Checks the connection each second, and returns after how many milliseconds it ends. */
function endsAfter(seconds = 5): number | undefined {
  const session = sessionOf(app);
  session.user = { id: 'ann', userInfo: undefined, watchlist: [] };
  session.grants = grants;
  const startMs = clock.now();
  // Each connection is checked at a time of its own.
  clock.advance(100);
  for (let n = 0; n < seconds; n++) {
    if (endsByRevocation({ clock, revocations }, session)) return clock.now() - startMs;
    clock.advance(1000);
  }
  return undefined;
}

describe('a connection', () => {
  it('ends 1 to 3 seconds after a grant was revoked by which it is in a channel', () => {
    const one = grant({ by: 'sign-in' });
    grants.add(one);
    grants.enter(CHANNEL, one);
    revoke();
    const afterMs = endsAfter();
    expect(afterMs).toBeGreaterThanOrEqual(1000);
    expect(afterMs).toBeLessThanOrEqual(3000);
  });

  it('ends if it is signed in by a revoked token, and in no channel', () => {
    const one = grant();
    grants.add(one);
    grants.signedInBy = one;
    revoke();
    expect(endsAfter()).toBeDefined();
  });

  it('ends no later because the same is revoked again and again', () => {
    const one = grant();
    grants.add(one);
    grants.enter(CHANNEL, one);
    const session = sessionOf(app);
    session.grants = grants;
    let ended = 0;
    for (let n = 1; n <= 5 && ended === 0; n++) {
      revoke();
      clock.advance(1000);
      if (endsByRevocation({ clock, revocations }, session)) ended = n;
    }
    expect(ended).toBe(2);
  });

  it('ends within two checks, also if the clock of the server that revoked is ahead', () => {
    const one = grant();
    grants.add(one);
    grants.enter(CHANNEL, one);
    revoke({ revokedAtMs: clock.now() + 60_000 });
    expect(endsAfter()).toBeLessThanOrEqual(2000);
  });

  it('only loses a grant on which nothing hangs', () => {
    const one = grant();
    grants.add(one);
    grants.enter(CHANNEL, one);
    grants.leave(CHANNEL.text);
    revoke();
    expect(endsAfter()).toBeUndefined();
    expect(grants.all).toEqual([]);
  });

  it('stays if another grant carries what hangs on the revoked one, also one that came since', () => {
    const one = grant();
    grants.add(one);
    grants.enter(CHANNEL, one);
    grants.signedInBy = one;
    revoke();
    expect(endsAfter(1)).toBeUndefined();
    grants.add(grant({ issuedAtSeconds: seconds() + 1, endsAtMs: clock.now() + 60_000 }));
    expect(endsAfter()).toBeUndefined();
    expect([grants.enteredBy(CHANNEL.text)]).toEqual([...grants.all]);
    expect([grants.signedInBy]).toEqual([...grants.all]);
  });

  it('stays if it was revoked for somebody else, for another app, or for earlier grants', () => {
    const one = grant();
    grants.add(one);
    grants.enter(CHANNEL, one);
    revoke({ name: 'bob' });
    revoke({ appId: 'other' });
    revoke({ issuedBefore: seconds() - 11 });
    expect(endsAfter()).toBeUndefined();
    expect(grants.all).toEqual([one]);
  });

  it('ends if the setting lets the user into a channel whose sign-in was revoked', () => {
    grants.signedIn({ userId: 'ann', issuedAtSeconds: seconds() - 10 });
    const asked = {
      nowMs: clock.now(),
      appId: app.id,
      revocations,
      setting: app.grants,
      userId: 'ann',
    };
    const bySetting = grants.covering(OF_USER, 'subscribe', asked);
    if (bySetting === undefined) throw new Error('not covered');
    grants.enter(OF_USER, bySetting);
    expect(endsAfter(2)).toBeUndefined();
    revoke();
    expect(grants.covering(OF_USER, 'subscribe', asked)).toBeUndefined();
    expect(endsAfter()).toBeDefined();
  });

  it('stays if the user has signed in since', () => {
    grants.signedIn({ userId: 'ann', issuedAtSeconds: seconds() - 10 });
    revoke();
    grants.signedIn({ userId: 'ann', issuedAtSeconds: seconds() + 1 });
    // A token that does not say when it was issued changes nothing.
    grants.signedIn({ userId: 'ann' });
    const asked = {
      nowMs: clock.now(),
      appId: app.id,
      revocations,
      setting: app.grants,
      userId: 'ann',
    };
    expect(grants.covering(OF_USER, 'subscribe', asked)?.by).toBe('setting');
  });

  it('loses a grant that was revoked while the engine was asked to sign it in', () => {
    revoke();
    expect(endsAfter(1)).toBeUndefined();
    const one = grant();
    grants.add(one);
    grants.enter(CHANNEL, one);
    expect(endsAfter()).toBeDefined();
  });

  it('ends after a sign-in that was refused, whatever grants it has', () => {
    revoke();
    const [revocation] = revocations.all();
    if (revocation === undefined) throw new Error('none');
    grants.add(grant({ issuedAtSeconds: seconds() + 1 }));
    endAfterRefusal(grants, revocation, clock.now());
    expect(endsAfter()).toBeDefined();
  });
});
