import { expect, it } from 'bun:test';
import { corsOf, preflightOf } from './cors.ts';

it.each(['device', 'reporting', 'sdk', 'other'] as const)(
  'lets pages of any site call the %s API',
  (family) => {
    expect(corsOf(family)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'retry-after',
    });
    expect(preflightOf(family)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, DELETE',
      'access-control-allow-headers': 'content-type, authorization, x-pusher-library',
      'access-control-max-age': '86400',
    });
  },
);

it.each(['publish', 'customer'] as const)('does not let pages call the %s API', (family) => {
  expect(corsOf(family)).toEqual({});
  expect(preflightOf(family)).toBeUndefined();
});
