import { describe, expect, it } from 'bun:test';
import { FakeClock } from '../../channels/hub.fixture.ts';
import { RevocationRelay, WAITING_MAX } from './revocation-relay.ts';

const revocation = (appId = 'app') =>
  ({ appId, kind: 'user', name: 'ann', issuedBefore: 1, revokedAtMs: 1 }) as const;

function opened(isStoreOwn = false) {
  const timers = new FakeClock();
  const sent: number[] = [];
  const send = (number: number) => void sent.push(number);
  return { timers, sent, relay: new RevocationRelay({ send, isStoreOwn, timers }) };
}

describe('the way of revocations to the store', () => {
  it('gives each its own answer, in any order', async () => {
    const { relay, sent } = opened();
    const answers = [relay.revoke(revocation()), relay.revoke(revocation())];
    expect(sent).toHaveLength(2);
    relay.answered(sent[1] ?? 0, 'revoked');
    relay.answered(sent[0] ?? 0, 'too-many');
    expect(await Promise.all(answers)).toEqual(['too-many', 'revoked']);
  });

  it('lets a few of each app wait', async () => {
    const { relay, sent } = opened();
    for (let n = 0; n < WAITING_MAX; n++) void relay.revoke(revocation());
    expect(await relay.revoke(revocation())).toBe('too-many-at-once');
    const other = relay.revoke(revocation('other'));
    relay.answered(sent.at(-1) ?? 0, 'revoked');
    expect(await other).toBe('revoked');
    relay.answered(sent[0] ?? 0, 'revoked');
    void relay.revoke(revocation());
    expect(sent).toHaveLength(WAITING_MAX + 2);
    expect(await relay.revoke(revocation())).toBe('too-many-at-once');
  });

  it('does not wait for a store that does not answer, and has room again then', async () => {
    const { relay, sent, timers } = opened();
    const waiting = Array.from({ length: WAITING_MAX }, () => relay.revoke(revocation()));
    timers.advance(5000);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['away']));
    // Too late.
    relay.answered(sent[0] ?? 0, 'revoked');
    const more = relay.revoke(revocation());
    relay.answered(sent.at(-1) ?? 0, 'revoked');
    expect(await more).toBe('revoked');
  });

  it('asks nobody if other servers would not learn of it', async () => {
    const { relay, sent } = opened(true);
    expect(await relay.revoke(revocation())).toBe('not-shared');
    expect(sent).toEqual([]);
  });
});
