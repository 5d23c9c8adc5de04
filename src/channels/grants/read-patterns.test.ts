import { describe, expect, it } from 'bun:test';
import { channelName } from '../hub.fixture.ts';
import { covers, type Grant, type Right } from './grant.ts';
import { patternsFor, readPatterns } from './read-patterns.ts';

/** Source: identity, §3.1. */

function grantOf(channels: unknown): Grant {
  const read = readPatterns(channels);
  if (!read.ok) throw new Error(read.why);
  return { patterns: read.patterns, endsAtMs: 1, by: 'token' };
}

describe('a pattern', () => {
  it.each<[string, string, boolean]>([
    ['private-a', 'private-a', true],
    ['private-a', 'private-ab', false],
    ['private-a*', 'private-ab', true],
    ['private-*', 'private-cache-x', true],
    ['private-*', 'private-encrypted-x', false],
    ['private-e*', 'private-encrypted-x', false],
    ['private-encrypted-*', 'private-encrypted-x', true],
    ['private-encrypted-*', 'private-encryptedx', false],
    ['presence-team-7', 'presence-team-7', true],
    ['presence-*', 'private-presence-x', false],
  ])('%s covers %s: %p', (pattern, channel, isCovered) => {
    const grant = grantOf({ [pattern]: ['subscribe'] });
    expect(covers(grant, channelName(channel), 'subscribe')).toBe(isCovered);
    expect(covers(grant, channelName(channel), 'client-events')).toBe(false);
  });

  it('shares patterns with others that have the same', () => {
    const channels = { 'private-a': ['subscribe', 'client-events'], 'private-a*': ['subscribe'] };
    const [whole, beginning] = grantOf(channels).patterns;
    const of = (text: string, rights: readonly Right[]) => grantOf({ [text]: rights }).patterns[0];
    expect(of('private-a', ['client-events', 'subscribe', 'subscribe'])).toBe(whole);
    expect(of('private-a*', ['subscribe'])).toBe(beginning);
    expect(of('private-a', ['subscribe'])).not.toBe(whole);
    expect(of('private-a', ['subscribe'])).toMatchObject({ isBeginning: false });
    expect(of('private-a*', ['client-events'])).not.toBe(beginning);
  });

  it('gives the rights that it lists', () => {
    const channel = channelName('private-a');
    const rightsOf = (rights: readonly Right[]) => {
      const grant = grantOf({ 'private-a': rights });
      return (['subscribe', 'client-events'] as const).filter((r) => covers(grant, channel, r));
    };
    expect(rightsOf([])).toEqual([]);
    expect(rightsOf(['client-events'])).toEqual(['client-events']);
    expect(rightsOf(['subscribe', 'client-events'])).toEqual(['subscribe', 'client-events']);
  });
});

describe('the channels of a grant', () => {
  it('may be an empty array, which PHP makes of an empty object', () => {
    expect(readPatterns([])).toEqual({ ok: true, patterns: [] });
  });

  it.each([
    '*',
    'pri*',
    'private*',
    'news',
    '#server-to-user-ann',
    'private-a*b',
    'private-**',
    'private-ä',
    'private-{user}',
    '',
    `private-${'a'.repeat(193)}`,
  ])('cannot have the pattern %p', (pattern) => {
    const read = readPatterns({ [pattern]: ['subscribe'] });
    expect(read).toEqual({ ok: false, why: expect.stringMatching(/^has a wrong pattern/) });
  });

  it.each([null, 'private-a', 7, ['private-a'], { 'private-a': 'subscribe' }])(
    'cannot be %j',
    (channels) => {
      expect(readPatterns(channels).ok).toBe(false);
    },
  );

  it('have known rights, and at most 100 patterns', () => {
    expect(readPatterns({ 'private-a': ['publish'] }).ok).toBe(false);
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`private-${n}`, ['subscribe']]));
    expect(readPatterns(many(100)).ok).toBe(true);
    expect(readPatterns(many(101)).ok).toBe(false);
  });
});

describe('the channels of the setting', () => {
  const channels = { 'private-user-{user}': ['subscribe'], 'presence-*': ['subscribe'] } as const;

  it('have the id of the user, which covers no longer name', () => {
    const grant: Grant = { patterns: patternsFor(channels, 'a'), endsAtMs: 1, by: 'setting' };
    expect(covers(grant, channelName('private-user-a'), 'subscribe')).toBe(true);
    expect(covers(grant, channelName('private-user-a-b'), 'subscribe')).toBe(false);
    expect(covers(grant, channelName('presence-x'), 'subscribe')).toBe(true);
  });

  it('leave out what an id makes too long, and keep an asterisk of an id out', () => {
    expect(patternsFor(channels, 'a'.repeat(190))).toHaveLength(1);
    expect(patternsFor({ 'private-{user}': ['subscribe'] }, '*')).toEqual([]);
  });
});
