import { expect, it } from 'bun:test';
import { secretKeyName, secretKeysMeant } from './secret-key-name.ts';

it('shows the beginning of a long secret key, and nothing of a short one', () => {
  expect(secretKeyName('0123456789ABCDEF'.repeat(4))).toBe('01234567…');
  expect(secretKeyName('hunter2-hunter2')).toBe('…');
  expect(secretKeyName('')).toBe('…');
});

it('finds the secret key that is meant by its beginning, or by the whole of it', () => {
  const keys = ['AAAAAAAA-1', 'AAAAAAAA-2', 'AAAAAAAA', 'short'];
  expect(secretKeysMeant(keys, 'AAAAAAAA-')).toEqual(['AAAAAAAA-1', 'AAAAAAAA-2']);
  expect(secretKeysMeant(keys, 'AAAAAAAA')).toEqual(['AAAAAAAA']);
  expect(secretKeysMeant(keys, 'AAAAAAA')).toEqual([]);
  expect(secretKeysMeant(keys, 'short')).toEqual(['short']);
  expect(secretKeysMeant(keys, '')).toEqual([]);
});
