import { describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from './options.ts';
import { secretOf, secretOptions } from './secret-option.ts';

const options = secretOptions({ name: 'secret', value: 'SECRET', help: 'A secret.' });
const secretIn = (...argv: string[]) => secretOf(readArguments(argv, options), 'secret');

/** What a process reads that gets this on its standard input. */
function readFrom(input: string): string {
  const script = `
    import { readArguments } from ${JSON.stringify(join(import.meta.dir, 'options.ts'))};
    import { secretOf, secretOptions } from ${JSON.stringify(join(import.meta.dir, 'secret-option.ts'))};
    const options = secretOptions({ name: 'secret', value: 'SECRET', help: 'A secret.' });
    try {
      console.log(secretOf(readArguments(['--secret-file', '-'], options), 'secret'));
    } catch (error) {
      console.log(error.message);
    }`;
  const child = Bun.spawnSync([process.execPath, '--eval', script], { stdin: Buffer.from(input) });
  return child.stdout.toString().trim();
}

describe('a secret of a command', () => {
  it('is given as an argument or in a file, and not in both', () => {
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-secret-'));
    const file = join(directory, 'secret');
    writeFileSync(file, 'from a file\n');
    expect(secretIn()).toBeUndefined();
    expect(secretIn('--secret', 'x')).toBe('x');
    expect(secretIn('--secret-file', file)).toBe('from a file');
    expect(() => secretIn('--secret', 'x', '--secret-file', file)).toThrow(
      'give either --secret or --secret-file',
    );
    rmSync(directory, { recursive: true });
    expect(() => secretIn('--secret-file', file)).toThrow(`--secret-file: ${file} does not exist`);
  });

  it('comes from standard input if the file is -', () => {
    expect(readFrom('from a pipe\n')).toBe('from a pipe');
    expect(readFrom('')).toBe('--secret-file: standard input is empty');
  });

  it('has a help that says who sees it', () => {
    expect(options.map(({ name }) => name)).toEqual(['secret', 'secret-file']);
    expect(options[0]?.help).toContain('prefer --secret-file');
  });
});
