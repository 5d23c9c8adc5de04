import { expect, it } from 'bun:test';
import { findRoute } from './routes.ts';

/** Whether a path is still remembered after others were requested. */
function isRemembered(path: string): boolean {
  const found = findRoute(path);
  findRoute('/apps/1/events');
  return findRoute(path) === found;
}

it('remembers the paths that are asked for often, and none that is long', () => {
  expect(isRemembered('/apps/2/events')).toBe(true);
  expect(isRemembered(`/apps/${'x'.repeat(188)}/events`)).toBe(false);
  expect(findRoute(`/apps/${'x'.repeat(10_000)}/events`)?.appId).toHaveLength(10_000);
  expect(findRoute(`/apps/1/channels/${'a'.repeat(164)}`)?.channelText).toHaveLength(164);
});
