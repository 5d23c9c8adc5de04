import { beforeEach, describe, expect, it } from 'bun:test';
import type { AppGrants } from '../app.ts';
import { channelName } from '../hub.fixture.ts';
import { ConnectionGrants } from './connection-grants.ts';
import { type Grant, hashOfToken, type Right } from './grant.ts';
import { Revocations } from './revocations.ts';

/** Source: identity, §3.2 to §3.5. */

const setting: AppGrants = {
  channels: { 'private-all': ['subscribe'] },
  leewaySeconds: 0,
  jwksUrl: null,
  publicKeys: [],
  issuer: null,
  audience: null,
  channelsClaim: 'channels',
  userClaim: 'sub',
};
const CHANNEL = channelName('private-a');

function grant(endsAtMs: number, rights: readonly Right[] = ['subscribe'], token?: string): Grant {
  const pattern = { kind: 'private', text: 'private-a', isBeginning: true } as const;
  const tokenHash = token && hashOfToken(token);
  return { patterns: [{ ...pattern, rights: new Set(rights) }], endsAtMs, by: 'token', tokenHash };
}

let revocations = new Revocations({ now: () => 0 });
beforeEach(() => {
  revocations = new Revocations({ now: () => 0 });
});
const asked = (nowMs: number, userId?: string) => ({
  nowMs,
  appId: 'app',
  revocations,
  setting,
  userId,
});

describe('the grants of a connection', () => {
  it('give the one that ends last', () => {
    const grants = new ConnectionGrants();
    for (const endsAtMs of [10, 30, 20]) grants.add(grant(endsAtMs));
    expect(grants.covering(CHANNEL, 'subscribe', asked(0))?.endsAtMs).toBe(30);
    expect(grants.covering(CHANNEL, 'subscribe', asked(29))?.endsAtMs).toBe(30);
    expect(grants.covering(CHANNEL, 'subscribe', asked(30))).toBeUndefined();
    expect(grants.covering(CHANNEL, 'client-events', asked(0))).toBeUndefined();
  });

  it('are the last eight, and each token counts once', () => {
    const grants = new ConnectionGrants();
    for (let n = 1; n <= 12; n++) grants.add(grant(n, ['subscribe'], `token-${n}`));
    expect(grants.all.map(({ endsAtMs }) => endsAtMs)).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
    grants.add(grant(99, ['subscribe'], 'token-12'));
    expect(grants.all).toHaveLength(8);
    expect(grants.ofToken('token-12', 98)?.endsAtMs).toBe(99);
    expect(grants.ofToken('token-12', 99)).toBeUndefined();
    expect(grants.ofToken('token-1', 0)).toBeUndefined();
  });

  it('carry a channel to the last end of all that cover it, also of those that came later', () => {
    const grants = new ConnectionGrants();
    const first = grant(10);
    grants.add(first);
    grants.enter(CHANNEL, first);
    expect([grants.hasEnded(9), grants.hasEnded(10)]).toEqual([false, true]);
    grants.add(grant(20));
    grants.add(grant(15));
    grants.add(grant(99, ['client-events']));
    expect([grants.hasEnded(19), grants.hasEnded(20)]).toEqual([false, true]);
    grants.leave(CHANNEL.text);
    expect(grants.hasEnded(100)).toBe(false);
  });

  it('still carry a channel when the grant is not among the last ones any more', () => {
    const grants = new ConnectionGrants();
    const own = grant(50, ['subscribe', 'client-events']);
    grants.add(own);
    grants.enter(CHANNEL, own);
    for (let n = 1; n <= 8; n++) grants.add(grant(n));
    expect(grants.hasEnded(49)).toBe(false);
    expect(grants.covering(CHANNEL, 'client-events', asked(49))).toBe(own);
  });

  it('have those of the setting while somebody is signed in', () => {
    const grants = new ConnectionGrants();
    const all = channelName('private-all');
    expect(grants.covering(all, 'subscribe', asked(0))).toBeUndefined();
    expect(grants.covering(all, 'subscribe', asked(0, 'ann'))?.by).toBe('setting');
    const other = { ...setting, channels: {} };
    expect(
      grants.covering(all, 'subscribe', { ...asked(0, 'ann'), setting: other }),
    ).toBeUndefined();
  });

  it('end the sign-in by a token', () => {
    const grants = new ConnectionGrants();
    grants.signedInBy = grant(10);
    expect([grants.hasEnded(9), grants.hasEnded(10)]).toEqual([false, true]);
  });
});
