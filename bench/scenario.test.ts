import { expect, it } from 'bun:test';
import { choose } from './scenario.ts';

const plain = { name: 'plain' };
const ours = { name: 'ours', needs: 'settings of its own' };

it('measures everything if nothing is chosen, in the order of the table', () => {
  expect(choose([plain, ours], [], false)).toEqual({ measured: [plain, ours], leftOut: [] });
  expect(choose([plain, ours], ['ours'], false)).toEqual({ measured: [ours], leftOut: [] });
});

it('leaves out what a server that is already running cannot run, and names it', () => {
  expect(choose([plain, ours], [], true)).toEqual({ measured: [plain], leftOut: [ours] });
});
