import { expect, it } from 'bun:test';
import { runTool } from './tools.ts';

it('the workflows of continuous integration and of releases have no error', () => {
  const { exitCode, stdout } = runTool('actionlint', ['-no-color', '-shellcheck=']);
  expect([exitCode, stdout]).toEqual([0, '']);
});
