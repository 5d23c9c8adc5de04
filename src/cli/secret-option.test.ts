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
    expect(readFrom('x'.repeat(65_536))).toHaveLength(65_536);
    expect(readFrom('x'.repeat(65_537))).toBe(
      '--secret-file: standard input is larger than 64 KiB',
    );
  });

  it('comes from a pipe, as of <(…) of a shell, and from nothing that does not end', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-secret-'));
    const pipe = join(directory, 'pipe');
    Bun.spawnSync(['mkfifo', pipe]);
    const written = (input: string) =>
      Bun.spawn(['sh', '-c', 'cat > "$0"', pipe], { stdin: Buffer.from(input) });
    await using _ = written('from a pipe\n');
    expect(secretIn('--secret-file', pipe)).toBe('from a pipe');
    await using _long = written('x'.repeat(70_000));
    expect(() => secretIn('--secret-file', pipe)).toThrow(`${pipe} is larger than 64 KiB`);
    rmSync(directory, { recursive: true });
    expect(() => secretIn('--secret-file', '/dev/zero')).toThrow('/dev/zero is not a file');
  });

  it('has a help that says who sees it', () => {
    expect(options.map(({ name }) => name)).toEqual(['secret', 'secret-file']);
    expect(options[0]?.help).toContain('prefer --secret-file');
  });
});
