import { describe, expect, it } from 'bun:test';
import { charactersOf, hasMoreCharacters } from './characters.ts';

describe('the characters of a text', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['é', 1],
    ['日本', 2],
    ['🎉🎉', 2],
    ['a🎉', 2],
    ['\ud83c', 1],
  ])('of %j are %i', (text, characters) => {
    expect(charactersOf(text)).toBe(characters);
  });

  it.each([
    ['🎉'.repeat(200), false],
    [`${'🎉'.repeat(200)}x`, true],
    ['x'.repeat(200), false],
    ['x'.repeat(201), true],
    ['x'.repeat(100_000), true],
  ])('are compared with a limit', (text, isMore) => {
    expect(hasMoreCharacters(text, 200)).toBe(isMore);
  });
});
