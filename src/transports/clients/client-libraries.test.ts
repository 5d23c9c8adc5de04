import { expect, it } from 'bun:test';
import { ClientLibraries } from './client-libraries.ts';

it('clients of one library share a number', () => {
  const libraries = new ClientLibraries();
  const number = libraries.numberOf('protocol=7&client=js&version=8.4.0&flash=false');
  expect(libraries.numberOf('client=js&version=8.4.0&protocol=7&t=17&n=2')).toBe(number);
  expect(libraries.of(number)).toEqual({ name: 'js', version: '8.4.0', protocol: '7' });
  expect(libraries.numberOf('protocol=7')).not.toBe(number);
});

it('odd names that clients invent are neither kept nor shown, and at most a thousand names are kept', () => {
  const libraries = new ClientLibraries();
  const odd = libraries.numberOf(`client=${encodeURIComponent('<b>')}&version=${'9'.repeat(41)}`);
  expect(libraries.of(odd)).toEqual({ name: '', version: '', protocol: '' });
  const known = libraries.numberOf('client=js');
  for (let n = 0; n < 2_000; n++) libraries.numberOf(`client=x${n}`);
  expect(libraries.numberOf('client=one-more')).toBe(0);
  expect(libraries.of(0)).toBeUndefined();
  expect(libraries.numberOf('client=js')).toBe(known);
});
