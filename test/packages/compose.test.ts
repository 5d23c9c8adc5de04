import { expect, it } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from './tools.ts';

const FOLDER = join(import.meta.dir, '../../packaging/compose');

it('the Compose files are valid by the schema of Compose', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));
  const { exitCode, stdout } = runTool('check-jsonschema', [
    ...['--builtin-schema', 'vendor.compose-spec'],
    ...files.map((name) => join(FOLDER, name)),
  ]);
  expect([files.length, exitCode, stdout]).toEqual([3, 0, 'ok -- validation done\n']);
});
