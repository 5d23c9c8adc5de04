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

it('a client that asks for extras is shown by its own name, also with an odd version', () => {
  const libraries = new ClientLibraries();
  const stock = libraries.numberOf('protocol=7&client=js&version=8.6.0&flash=false');
  const number = libraries.numberOf('protocol=7&client=js&version=8.6.0&flash=false&fanfare=0.2.0');
  expect(libraries.of(number)).toEqual({ name: 'fanfare-js', version: '0.2.0', protocol: '7' });
  expect(libraries.asksForExtras(number)).toBe(true);
  expect(libraries.asksForExtras(stock)).toBe(false);
  expect(libraries.asksForExtras(libraries.numberOf('client=js&fanfare='))).toBe(true);
  const imitation = libraries.numberOf('protocol=7&client=fanfare-js&version=0.2.0');
  expect(libraries.of(imitation)).toEqual(libraries.of(number));
  expect(libraries.asksForExtras(imitation)).toBe(false);
});

it('strangers who fill the descriptions take extras from nobody', () => {
  const libraries = new ClientLibraries();
  for (let n = 0; n < 2_000; n++) libraries.numberOf(`client=x${n}`);
  const late = libraries.numberOf('protocol=7&client=js&fanfare=9.9.9');
  expect(libraries.of(late)).toBeUndefined();
  expect(libraries.asksForExtras(late)).toBe(true);
  expect(libraries.asksForExtras(libraries.numberOf('client=late'))).toBe(false);
});
